// A pool whose threads have queues of their own and steal from each other, as rayon's do.
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

struct Pool {
    queues: Vec<Mutex<VecDeque<(usize, usize)>>>,
    left: AtomicUsize,
    sum: AtomicUsize,
}

impl Pool {
    fn next(&self, me: usize) -> Option<(usize, usize)> {
        if let Some(x) = self.queues[me].lock().unwrap().pop_back() {
            return Some(x);
        }
        let n = self.queues.len();
        (1..n).find_map(|i| self.queues[(me + i) % n].lock().unwrap().pop_front())
    }

    fn work(&self, me: usize) {
        while self.left.load(Ordering::Acquire) > 0 {
            let Some((lo, hi)) = self.next(me) else {
                thread::yield_now();
                continue;
            };
            if hi - lo <= 16 {
                self.sum.fetch_add((lo..hi).sum(), Ordering::Relaxed);
                self.left.fetch_sub(hi - lo, Ordering::Release);
            } else {
                let mid = (lo + hi) / 2;
                let mut q = self.queues[me].lock().unwrap();
                q.push_back((lo, mid));
                q.push_back((mid, hi));
            }
        }
    }
}

fn main() {
    for n in [1, 1000, 20000] {
        let pool = Pool {
            queues: (0..5).map(|_| Mutex::new(VecDeque::new())).collect(),
            left: AtomicUsize::new(n),
            sum: AtomicUsize::new(0),
        };
        pool.queues[0].lock().unwrap().push_back((0, n));
        let pool = &pool;
        thread::scope(|s| (0..5).for_each(|i| { s.spawn(move || pool.work(i)); }));
        println!("{}", pool.sum.load(Ordering::Relaxed));
    }
}
