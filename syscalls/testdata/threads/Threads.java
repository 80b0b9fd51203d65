// Pools, monitors, atomics.
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

public class Threads {
    static int guarded, turn;

    static synchronized void add() {
        guarded++;
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        AtomicLong atomic = new AtomicLong();
        CountDownLatch done = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) {
            int n = i;
            pool.submit(() -> {
                for (int j = 0; j < 50; j++) {
                    add();
                    atomic.addAndGet(n);
                }
                done.countDown();
            });
        }
        done.await();
        Future<Integer> f = pool.submit(() -> 42);
        System.out.println(guarded + " " + atomic + " " + f.get());
        pool.shutdown();
        System.out.println(pool.awaitTermination(10, TimeUnit.SECONDS));
        Object monitor = new Object();
        Thread[] ts = new Thread[3];
        for (int i = 0; i < 3; i++) {
            int me = i;
            ts[i] = new Thread(() -> {
                for (int j = 0; j < 20; j++)
                    synchronized (monitor) {
                        try {
                            while (turn % 3 != me)
                                monitor.wait();
                        } catch (InterruptedException e) {
                            return;
                        }
                        turn++;
                        monitor.notifyAll();
                    }
            });
            ts[i].start();
        }
        for (Thread t : ts)
            t.join();
        System.out.println(turn);
    }
}
