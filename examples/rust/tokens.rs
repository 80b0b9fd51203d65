//! Reads an arithmetic expression from standard input and prints its value.
use std::io::Read;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Number(i64),
    Operator(u8),
    Open,
    Close,
}

#[inline(never)]
fn tokens(text: &[u8]) -> Vec<Token> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < text.len() {
        match text[i] {
            b'0'..=b'9' => {
                let mut n = 0i64;
                while i < text.len() && text[i].is_ascii_digit() {
                    n = n * 10 + i64::from(text[i] - b'0');
                    i += 1;
                }
                out.push(Token::Number(n));
                continue;
            }
            b'(' => out.push(Token::Open),
            b')' => out.push(Token::Close),
            c if b"+-*".contains(&c) => out.push(Token::Operator(c)),
            _ => {}
        }
        i += 1;
    }
    out
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).copied()
    }

    #[inline(never)]
    fn sum(&mut self) -> i64 {
        let mut n = self.product();
        while let Some(Token::Operator(op @ (b'+' | b'-'))) = self.tokens.get(self.at).copied() {
            self.at += 1;
            let m = self.product();
            n = if op == b'+' { n.wrapping_add(m) } else { n.wrapping_sub(m) };
        }
        n
    }

    #[inline(never)]
    fn product(&mut self) -> i64 {
        let mut n = self.value();
        while self.tokens.get(self.at) == Some(&Token::Operator(b'*')) {
            self.at += 1;
            n = n.wrapping_mul(self.value()) % 1_000_003;
        }
        n
    }

    fn value(&mut self) -> i64 {
        match self.next() {
            Some(Token::Number(n)) => n,
            Some(Token::Open) => {
                let n = self.sum();
                self.next(); // the parenthesis
                n
            }
            _ => 0,
        }
    }
}

fn main() {
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).unwrap();
    let mut parser = Parser { tokens: tokens(&text), at: 0 };
    println!("{}", parser.sum());
}
