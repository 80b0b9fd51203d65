// Much that is inlined: templates, lambdas, members of local and nameless classes, in several levels and ranges.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct Counter {
	std::map<std::string, int> words;
	void add(const std::string &w) { ++words[w]; }
	template <typename F> void each(F f) const
	{
		for (const auto &[w, n] : words)
			f(w, n);
	}
};

inline int twice(int n) { return 2 * n; }
inline int four(int n) { return twice(twice(n)) + (n > 100 ? throw std::out_of_range("n") : 0); }
}

extern "C" int plain(int n) { return four(n) + twice(n); }

static int collatz(unsigned long n)
{
	int steps = 0;
	for (; n != 1; ++steps)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

int main(int argc, char **argv)
{
	Counter c;
	std::istringstream text("the quick brown fox jumps over the lazy dog and the cat");
	for (std::string word; text >> word;)
		c.add(word);
	std::vector<int> v;
	c.each([&](const std::string &w, int n) { v.push_back(n * int(w.size())); });
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	std::function<int(int)> f = [argc](int n) { return four(n) + argc; };
	std::transform(v.begin(), v.end(), v.begin(), f);
	struct {
		int sum = 0;
		void operator()(int n) { sum += collatz(n + 1); }
	} local;
	std::cout << std::accumulate(v.begin(), v.end(), plain(argc)) << " " << std::for_each(v.begin(), v.end(), local).sum << "\n";
}
