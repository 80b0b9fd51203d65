#include <cstdio>
#include <stdexcept>
#include <string>
struct Guard {
    int &n;
    explicit Guard(int &n) : n(n) {}
    ~Guard() { n++; }
};
static int unwound;
static int deep(int n)
{
    Guard g(unwound);
    if (n == 0)
        throw std::runtime_error("deep");
    if (n == 13)
        throw n;
    return deep(n - 1) + 1;
}
int main()
{
    int ints = 0, errors = 0;
    for (int i = 0; i < 20; i++)
        try {
            try {
                deep(i);
            } catch (const std::logic_error &) {
                return 1;
            }
        } catch (int) {
            ints++;
        } catch (const std::exception &e) {
            errors += std::string(e.what()).size();
        }
    std::printf("%d %d %d\n", ints, errors, unwound);
}
