/* Linked lists whose nodes lie in memory in another order than in the list. */
#include <stdio.h>
#include <stdlib.h>
struct node {
    struct node *next, *prev;
    int key;
    char pad[23]; /* nodes straddle lines */
} __attribute__((packed));
static unsigned seed = 1;

static unsigned rnd(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % n;
}

static struct node *build(int n)
{
    struct node **all = malloc(n * sizeof *all), *head;
    for (int i = 0; i < n; i++) {
        all[i] = malloc(sizeof **all);
        all[i]->key = rnd(100000);
    }
    for (int i = n - 1; i > 0; i--) {
        int k = rnd(i + 1);
        struct node *x = all[i];
        all[i] = all[k];
        all[k] = x;
    }
    for (int i = 0; i < n; i++) {
        all[i]->next = i + 1 < n ? all[i + 1] : 0;
        all[i]->prev = i ? all[i - 1] : 0;
    }
    head = all[0];
    free(all);
    return head;
}

static struct node *merge(struct node *a, struct node *b)
{
    struct node *head = 0, **end = &head;
    while (a && b) {
        struct node **from = a->key <= b->key ? &a : &b;
        *end = *from;
        end = &(*end)->next;
        *from = (*from)->next;
    }
    *end = a ? a : b;
    return head;
}

static struct node *sort(struct node *l)
{
    struct node *slow = l, *fast, *half;
    if (!l || !l->next)
        return l;
    for (fast = l->next; fast && fast->next; fast = fast->next->next)
        slow = slow->next;
    half = slow->next;
    slow->next = 0;
    return merge(sort(l), sort(half));
}

static struct node *reverse(struct node *l)
{
    struct node *r = 0;
    while (l) {
        struct node *next = l->next;
        l->next = r;
        r = l;
        l = next;
    }
    return r;
}

int main(void)
{
    unsigned sum = 0;
    for (int n = 1; n < 3000; n = n * 3 + 1) {
        struct node *l = build(n);
        for (int k = 0; k < 5; k++) {
            for (struct node *p = l; p; p = p->next)
                sum = sum * 31 + p->key;
            l = reverse(l);
        }
        l = sort(l);
        for (struct node *p = l; p && p->next; p = p->next)
            if (p->key % 3 == 0) {
                struct node *gone = p->next;
                p->next = gone->next;
                sum += gone->key;
                free(gone);
                if (!p->next)
                    break;
            }
        while (l) {
            struct node *next = l->next;
            sum = sum * 31 + l->key;
            free(l);
            l = next;
        }
    }
    printf("%u\n", sum);
    return 0;
}
