# Threads, queues, conditions, pools.
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

sys.setswitchinterval(1e-5)
q = queue.Queue(3)
total = 0
lock = threading.Lock()


def take():
    global total
    while (x := q.get()) is not None:
        with lock:
            total += x


takers = [threading.Thread(target=take) for _ in range(3)]
for t in takers:
    t.start()
for i in range(300):
    q.put(i)
for t in takers:
    q.put(None)
for t in takers:
    t.join()
print(total)

turn = 0
cond = threading.Condition()


def turns(i):
    global turn
    for _ in range(20):
        with cond:
            cond.wait_for(lambda: turn % 3 == i)
            turn += 1
            cond.notify_all()


ts = [threading.Thread(target=turns, args=(i,)) for i in range(3)]
[t.start() for t in ts]
[t.join() for t in ts]
print(turn)

with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(lambda x: x * x, range(200))))

barrier = threading.Barrier(4)
local = threading.local()
wrong = []


def meet(i):
    local.x = i
    for _ in range(10):
        barrier.wait()
        if local.x != i:
            wrong.append(i)


ts = [threading.Thread(target=meet, args=(i,)) for i in range(4)]
[t.start() for t in ts]
[t.join() for t in ts]
print(wrong)
