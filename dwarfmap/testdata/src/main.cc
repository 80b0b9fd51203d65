#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ns {
template <typename T, int N> struct Array {
	T v[N];
	template <typename F> auto fold(F f) const -> decltype(f(v[0], v[0]))
	{
		auto r = v[0];
		for (int i = 1; i < N; i++)
			r = f(r, v[i]);
		return r;
	}
	operator bool() const { return v[0] != 0; }
	T &operator[](int i) { return v[i]; }
};

namespace {
struct Base {
	virtual ~Base() = default;
	virtual int call(const std::string &, int (*)(int), long double) const = 0;
};
struct Derived : Base {
	int call(const std::string &s, int (*f)(int), long double d) const override
	{
		return f(s.size()) + int(d);
	}
};
} // namespace

template <typename... Args> __attribute__((noinline)) int variadic(Args &&...args)
{
	return (0 + ... + args);
}

inline namespace v1 {
__attribute__((noinline)) unsigned long operator""_km(unsigned long long x) { return x * 1000; }
}
} // namespace ns

static int increment(int x) { return x + 1; }

int main(int argc, char **argv)
{
	using namespace ns;
	Array<int, 5> a{{1, 2, 3, 4, argc}};
	std::vector<std::string> words{"one", "two", "three"};
	std::map<std::string, std::function<int(int)>> fns;
	for (auto &w : words)
		fns[w] = [&](int x) { return x + int(w.size()); };
	std::sort(words.begin(), words.end(), [](auto const &x, auto const &y) { return x.size() < y.size(); });
	std::unique_ptr<Base> b(new Derived);
	int r = a.fold([](int x, int y) { return x + y; }) + bool(a) + a[2];
	r += b->call("abc", increment, 2.5L) + variadic(1, 2L, 'c') + int(5_km);
	for (auto &[k, f] : fns)
		r += f(1);
	try {
		if (r > 0)
			throw std::string("x");
	} catch (std::string &e) {
		r += e.size();
	}
	std::cout << r << "\n";
	return 0;
}
