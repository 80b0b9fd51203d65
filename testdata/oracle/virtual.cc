#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Shape {
    virtual ~Shape() {}
    virtual double area() const = 0;
    virtual std::string name() const { return "shape"; }
};
struct Square : Shape {
    double a;
    explicit Square(double a) : a(a) {}
    double area() const override { return a * a; }
    std::string name() const override { return "square"; }
};
struct Named {
    virtual int id() const { return 1; }
    virtual ~Named() {}
};
struct Circle : Named, Shape {
    double r;
    explicit Circle(double r) : r(r) {}
    double area() const override { return 3.14159 * r * r; }
    int id() const override { return 2; }
};
template <typename T> T sum(const std::vector<T> &v)
{
    T s{};
    for (const auto &x : v)
        s += x;
    return s;
}
int main()
{
    std::vector<std::unique_ptr<Shape>> shapes;
    std::map<std::string, double> by;
    std::vector<double> areas;
    for (int i = 0; i < 40; i++)
        if (i % 3)
            shapes.emplace_back(new Square(i));
        else
            shapes.emplace_back(new Circle(i));
    int ids = 0;
    for (auto &s : shapes) {
        by[s->name()] += s->area();
        areas.push_back(s->area());
        if (auto *n = dynamic_cast<Named *>(s.get()))
            ids += n->id();
    }
    std::printf("%.3f %.3f %d %zu\n", sum(areas), by["square"], ids, by.size());
}
