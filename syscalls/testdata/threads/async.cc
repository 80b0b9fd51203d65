// Futures, promises, exceptions that cross threads, latches, stop tokens.
#include <cstdio>
#include <future>
#include <latch>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

static long fib(int n) {
	if (n < 12)
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	auto f = std::async(std::launch::async, fib, n - 1);
	long x = fib(n - 2);
	return x + f.get();
}

int main() {
	std::printf("%ld\n", fib(16));

	std::vector<std::promise<int>> p(10);
	std::vector<std::thread> t;
	for (int i = 0; i < 10; i++)
		t.emplace_back([&, i] {
			if (i > 0)
				p[i].set_value(p[i - 1].get_future().get() + i);
			else
				p[0].set_value(0);
		});
	std::printf("%d\n", p[9].get_future().get());
	for (auto &x : t)
		x.join();

	auto bad = std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown in a thread"); });
	try {
		bad.get();
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
	}

	std::latch started(3);
	std::atomic<int> stopped = 0;
	{
		std::vector<std::jthread> j;
		for (int i = 0; i < 3; i++)
			j.emplace_back([&](std::stop_token s) {
				started.count_down();
				while (!s.stop_requested())
					std::this_thread::yield();
				stopped++;
			});
		started.wait();
	}
	std::printf("%d\n", stopped.load());
}
