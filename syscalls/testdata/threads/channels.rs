// Threads, channels, locks, scopes, parking.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;

fn main() {
    let (tx, rx) = mpsc::channel();
    for i in 0..4u64 {
        let tx = tx.clone();
        thread::spawn(move || (0..250).for_each(|j| tx.send(i * 250 + j).unwrap()));
    }
    drop(tx);
    println!("{}", rx.iter().sum::<u64>());

    let (tx, rx) = mpsc::sync_channel(2);
    let t = thread::spawn(move || rx.iter().collect::<Vec<i32>>());
    (0..100).for_each(|i| tx.send(i).unwrap());
    drop(tx);
    println!("{}", t.join().unwrap() == (0..100).collect::<Vec<_>>());

    let state = Arc::new((Mutex::new(0), Condvar::new()));
    let ts: Vec<_> = (0..3)
        .map(|i| {
            let s = state.clone();
            thread::spawn(move || {
                for _ in 0..50 {
                    let mut g = s.1.wait_while(s.0.lock().unwrap(), |n| *n % 3 != i).unwrap();
                    *g += 1;
                    s.1.notify_all();
                }
            })
        })
        .collect();
    ts.into_iter().for_each(|t| t.join().unwrap());
    println!("{}", *state.0.lock().unwrap());

    let table = RwLock::new(vec![0; 10]);
    let barrier = Barrier::new(4);
    let leaders = AtomicUsize::new(0);
    thread::scope(|s| {
        for i in 0..4 {
            let (table, barrier, leaders) = (&table, &barrier, &leaders);
            s.spawn(move || {
                for j in 0..100 {
                    if i == 0 {
                        table.write().unwrap().iter_mut().for_each(|x| *x += 1);
                    } else {
                        let t = table.read().unwrap();
                        assert!(t.iter().all(|x| *x == t[0]));
                    }
                    if j % 10 == 0 && barrier.wait().is_leader() {
                        leaders.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    println!("{:?} {}", table.read().unwrap()[9], leaders.load(Ordering::Relaxed));

    let poisoned = Arc::new(Mutex::new(1));
    let p = poisoned.clone();
    std::panic::set_hook(Box::new(|_| ()));
    println!("{}", thread::spawn(move || { let _g = p.lock(); panic!() }).join().is_err());
    println!("{}", poisoned.lock().is_err());
}
