use std::collections::BTreeMap;
use std::fmt::Display;

trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String {
        String::from("shape")
    }
}

struct Square(f64);
struct Named<'a, T: Display, const N: usize> {
    items: [T; N],
    label: &'a str,
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl<'a, T: Display, const N: usize> Shape for Named<'a, T, N> {
    fn area(&self) -> f64 {
        self.items.iter().map(|i| i.to_string().len() as f64).sum()
    }
    fn name(&self) -> String {
        self.label.to_owned()
    }
}

mod inner {
    #[inline(never)]
    pub fn apply<F: Fn(u32) -> u32>(f: F, n: u32) -> u32 {
        (0..n).map(|x| f(x)).fold(0, |a, b| a.wrapping_add(b))
    }
}

fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![
        Box::new(Square(2.0)),
        Box::new(Named { items: [1u8, 2, 3], label: "n" }),
    ];
    let mut by_name = BTreeMap::new();
    for s in &shapes {
        by_name.insert(s.name(), s.area());
    }
    println!("{:?} {}", by_name, inner::apply(|x| x * 3, 100));
}
