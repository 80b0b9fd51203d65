// A stack without locks, a spin lock, atomic waits, a counter that wraps.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Node {
	int value;
	Node *next;
};

static std::atomic<Node *> top{nullptr};
static std::atomic_flag lock;
static long guarded;
static std::atomic<int> turn{0};
static std::atomic<unsigned char> wraps{0};

static void push(int v) {
	Node *n = new Node{v, top.load()};
	while (!top.compare_exchange_weak(n->next, n))
		;
}

int main() {
	std::vector<std::thread> t;
	for (int i = 0; i < 4; i++)
		t.emplace_back([i] {
			for (int j = 0; j < 500; j++) {
				push(i * 500 + j);
				while (lock.test_and_set())
					;
				guarded++;
				lock.clear();
				wraps++;
			}
			for (int j = 0; j < 50; j++) {
				for (int now = turn.load(); now % 4 != i; now = turn.load())
					turn.wait(now);
				turn++;
				turn.notify_all();
			}
		});
	for (auto &x : t)
		x.join();
	long sum = 0, n = 0;
	for (Node *p = top; p; p = p->next)
		sum += p->value, n++;
	std::printf("%ld %ld %ld %d %d\n", n, sum, guarded, turn.load(), (int)wraps.load());
}
