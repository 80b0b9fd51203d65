// A pool of threads with a queue of tasks, which make more tasks.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
	std::mutex m;
	std::condition_variable ready, idle;
	std::deque<std::function<void()>> tasks;
	std::vector<std::thread> threads;
	int busy = 0;
	bool over = false;

	void work() {
		std::unique_lock<std::mutex> l(m);
		for (;;) {
			ready.wait(l, [this] { return over || !tasks.empty(); });
			if (tasks.empty())
				return;
			auto f = std::move(tasks.front());
			tasks.pop_front();
			busy++;
			l.unlock();
			f();
			l.lock();
			if (--busy == 0 && tasks.empty())
				idle.notify_all();
		}
	}

public:
	explicit Pool(int n) {
		for (int i = 0; i < n; i++)
			threads.emplace_back([this] { work(); });
	}
	void add(std::function<void()> f) {
		std::lock_guard<std::mutex> l(m);
		tasks.push_back(std::move(f));
		ready.notify_one();
	}
	void wait() {
		std::unique_lock<std::mutex> l(m);
		idle.wait(l, [this] { return busy == 0 && tasks.empty(); });
	}
	~Pool() {
		{
			std::lock_guard<std::mutex> l(m);
			over = true;
		}
		ready.notify_all();
		for (auto &t : threads)
			t.join();
	}
};

int main() {
	std::mutex m;
	long sum = 0;
	{
		Pool p(4);
		std::function<void(int)> split = [&](int n) {
			if (n <= 1) {
				std::lock_guard<std::mutex> l(m);
				sum += n;
				return;
			}
			p.add([&, n] { split(n / 2); });
			p.add([&, n] { split(n - n / 2); });
		};
		for (int i = 1; i <= 20; i++)
			p.add([&, i] { split(i); });
		p.wait();
		std::printf("%ld\n", sum);
	}
}
