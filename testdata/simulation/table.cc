// Hash tables, trees and strings of the C++ library.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct Shape {
	virtual ~Shape() {}
	virtual int area() const = 0;
};
struct Square : Shape {
	int a;
	explicit Square(int a) : a(a) {}
	int area() const override { return a * a; }
};
struct Oblong : Shape {
	int a, b;
	Oblong(int a, int b) : a(a), b(b) {}
	int area() const override { return a * b; }
};
struct Nothing : Shape {
	int area() const override { return 0; }
};

int main()
{
	unsigned seed = 7;
	auto rnd = [&](unsigned n) { return (seed = seed * 1103515245 + 12345) / 65536 % n; };
	std::unordered_map<std::string, int> words;
	std::map<int, std::string> tree;
	std::vector<std::unique_ptr<Shape>> shapes;
	unsigned long sum = 0;
	for (int i = 0; i < 1200; i++) {
		std::string w(1 + rnd(24), 'a' + rnd(26));
		w += std::to_string(rnd(300));
		words[w] += i;
		if (rnd(3) == 0)
			tree[rnd(1000)] = w;
		switch (rnd(4)) {
		case 0: shapes.push_back(std::make_unique<Square>(i % 10)); break;
		case 1: shapes.push_back(std::make_unique<Nothing>()); break;
		default: shapes.push_back(std::make_unique<Oblong>(i % 7, i % 5));
		}
	}
	for (int k = 0; k < 3; k++) {
		for (const auto &s : shapes)
			sum = sum * 31 + s->area();
		for (const auto &t : tree)
			if (auto w = words.find(t.second); w != words.end())
				sum += w->second * t.first;
		std::stable_sort(shapes.begin(), shapes.end(), [](auto &a, auto &b) { return a->area() < b->area(); });
	}
	int caught = 0;
	for (int i = 0; i < 50; i++)
		try {
			sum += tree.at(i * 20).size();
		} catch (const std::out_of_range &) {
			caught++;
		}
	std::printf("%zu %zu %d %lu\n", words.size(), tree.size(), caught, sum);
}
