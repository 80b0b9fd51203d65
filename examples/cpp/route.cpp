// Finds the shortest ways through a grid whose fields cost different amounts (Dijkstra's algorithm).
#include <cstdint>
#include <iostream>
#include <queue>
#include <vector>

struct Step {
	uint32_t cost, field;
	bool operator<(const Step &other) const { return cost > other.cost; }
};

class Grid {
public:
	explicit Grid(uint32_t size) : size(size), costs(size * size)
	{
		uint32_t seed = 1;
		for (auto &c : costs) {
			seed = seed * 1664525 + 1013904223;
			c = 1 + (seed >> 24) % 9;
		}
	}

	uint32_t shortest() const;

private:
	uint32_t size;
	std::vector<uint32_t> costs;

	uint32_t enter(uint32_t field) const { return costs[field]; }
};

[[gnu::noinline]] uint32_t Grid::shortest() const
{
	std::vector<uint32_t> best(size * size, UINT32_MAX);
	std::priority_queue<Step> open;
	open.push({0, 0});
	best[0] = 0;
	while (!open.empty()) {
		auto [cost, field] = open.top();
		open.pop();
		if (field == size * size - 1)
			return cost;
		if (cost > best[field])
			continue;
		uint32_t row = field / size, column = field % size;
		auto visit = [&](uint32_t next) {
			uint32_t total = cost + enter(next);
			if (total < best[next]) {
				best[next] = total;
				open.push({total, next});
			}
		};
		if (row > 0)
			visit(field - size);
		if (row < size - 1)
			visit(field + size);
		if (column > 0)
			visit(field - 1);
		if (column < size - 1)
			visit(field + 1);
	}
	return UINT32_MAX;
}

int main()
{
	std::cout << Grid(60).shortest() << "\n";
}
