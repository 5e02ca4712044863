//! Parses expressions: `if(rtt > 1.5 * min_rtt, 0.9, 1.05) * window`.

use super::code::{One, Op, Two};
use narrows_settings::unknown;

/// The most steps of an expression, and how deep it may be nested.
const MOST: usize = 64;

/// A piece of text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Sign(&'a str),
}

/// Signs, the longer ones first.
const SIGNS: [&str; 14] =
    ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ",", "="];

fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut rest = text.trim_start();
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let end = |belongs: fn(char) -> bool| {
            rest.find(|sign: char| !belongs(sign)).unwrap_or(rest.len())
        };
        let length = if first.is_ascii_digit() || first == '.' {
            number_length(rest)
        } else if first.is_ascii_alphabetic() || first == '_' {
            end(|sign| sign.is_ascii_alphanumeric() || sign == '_')
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            sign.map(|sign| sign.len()).ok_or_else(|| format!("\"{first}\" means nothing here"))?
        };
        let (word, after) = rest.split_at(length);
        found.push(if first.is_ascii_digit() || first == '.' {
            let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
            Token::Number(number.ok_or_else(|| format!("\"{word}\" is not a number"))?)
        } else if first.is_ascii_alphabetic() || first == '_' {
            Token::Name(word)
        } else {
            Token::Sign(word)
        });
        rest = after.trim_start();
    }
    Ok(found)
}

/// The length of the number with which `text` begins, an exponent included.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|sign: char| !sign.is_ascii_digit() && sign != '.');
    let mantissa = digits(text).unwrap_or(text.len());
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else { return mantissa };
    let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let length = signed.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(signed.len());
    if length == 0 { mantissa } else { text.len() - signed.len() + length }
}

/// The names that an expression may use, in the order of their places.
pub type Names<'a> = &'a [String];

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    names: Names<'a>,
    code: Vec<Op>,
    depth: usize,
}

/// Binding of signs between two operands, the loosest first.
const LEVELS: [&[(&str, Two)]; 5] = [
    &[("or", Two::Or)],
    &[("and", Two::And)],
    &[
        ("<", Two::Less),
        ("<=", Two::AtMost),
        (">", Two::More),
        (">=", Two::AtLeast),
        ("==", Two::Equal),
        ("!=", Two::Unequal),
    ],
    &[("+", Two::Add), ("-", Two::Subtract)],
    &[("*", Two::Multiply), ("/", Two::Divide)],
];

/// The level of comparisons, before which `not` may stand.
const COMPARISONS: usize = 2;

/// Functions by name, with the number of their arguments.
const FUNCTIONS: [(&str, usize, Op); 9] = [
    ("min", 2, Op::Two(Two::Least)),
    ("max", 2, Op::Two(Two::Most)),
    ("abs", 1, Op::One(One::Size)),
    ("sqrt", 1, Op::One(One::SquareRoot)),
    ("cbrt", 1, Op::One(One::CubeRoot)),
    ("log2", 1, Op::One(One::Log2)),
    ("exp2", 1, Op::One(One::Exp2)),
    ("floor", 1, Op::One(One::Floor)),
    ("if", 3, Op::If),
];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.first().copied()
    }

    fn step(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn emit(&mut self, op: Op) -> Result<(), String> {
        if self.code.len() >= MOST {
            return Err(format!("more than {MOST} steps; give a part a name of its own"));
        }
        self.code.push(op);
        Ok(())
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        match self.step() {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            found => Err(format!("{} where \"{sign}\" should be", told(found))),
        }
    }

    fn level(&mut self, level: usize) -> Result<(), String> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        if level == COMPARISONS && self.peek() == Some(Token::Name("not")) {
            self.step();
            self.deeper()?;
            self.level(level)?;
            self.depth -= 1;
            return self.emit(Op::Not);
        }
        self.level(level + 1)?;
        while let Some(Token::Sign(sign) | Token::Name(sign)) = self.peek() {
            let Some((_, two)) = signs.iter().find(|(known, _)| *known == sign) else { break };
            self.step();
            self.level(level + 1)?;
            self.emit(Op::Two(*two))?;
        }
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MOST {
            return Err(format!("nested more than {MOST} deep"));
        }
        Ok(())
    }

    fn unary(&mut self) -> Result<(), String> {
        self.deeper()?;
        match self.peek() {
            Some(Token::Sign("-")) => {
                self.step();
                self.unary()?;
                self.emit(Op::Minus)?;
            }
            _ => self.primary()?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn primary(&mut self) -> Result<(), String> {
        match self.step() {
            Some(Token::Number(number)) => self.emit(Op::Number(number)),
            Some(Token::Sign("(")) => {
                self.level(0)?;
                self.expect(")")
            }
            Some(Token::Name(name)) if self.peek() == Some(Token::Sign("(")) => self.call(name),
            Some(Token::Name(name)) => {
                let place = self.names.iter().position(|known| known == name);
                let names = self.names.iter().map(String::as_str);
                let place = place.ok_or_else(|| unknown("name", name, names))?;
                self.emit(Op::Variable(place))
            }
            found => Err(format!("{} where a number or a name should be", told(found))),
        }
    }

    fn call(&mut self, name: &str) -> Result<(), String> {
        let names = FUNCTIONS.iter().map(|(known, ..)| *known);
        let found = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let (_, count, op) = found.ok_or_else(|| unknown("function", name, names))?;
        self.expect("(")?;
        for argument in 0..*count {
            if argument > 0 {
                self.expect(",")?;
            }
            self.level(0)?;
        }
        self.expect(")")?;
        self.emit(*op)
    }
}

fn told(token: Option<Token<'_>>) -> String {
    match token {
        None => "the end".to_owned(),
        Some(Token::Number(number)) => format!("{number}"),
        Some(Token::Name(word) | Token::Sign(word)) => format!("\"{word}\""),
    }
}

/// The code of an expression over `names`. Fails if it is none, and says what was found instead.
pub fn expression(text: &str, names: Names<'_>) -> Result<Vec<Op>, String> {
    let tokens = tokens(text)?;
    parsed(&tokens, names)
}

fn parsed(tokens: &[Token<'_>], names: Names<'_>) -> Result<Vec<Op>, String> {
    let mut parser = Parser { tokens, names, code: Vec::new(), depth: 0 };
    parser.level(0)?;
    match parser.step() {
        None => Ok(parser.code),
        found => Err(format!("{} after the end of the expression", told(found))),
    }
}

/// The place of the variable that `name = expression` sets, of the first `settable` of `names`, and
/// the expression's code. Fails if it is no assignment.
pub fn assignment(
    text: &str,
    names: Names<'_>,
    settable: usize,
) -> Result<(usize, Vec<Op>), String> {
    let tokens = tokens(text)?;
    let [Token::Name(name), Token::Sign("="), rest @ ..] = tokens.as_slice() else {
        return Err(format!("\"{text}\" is not like window = window + 1"));
    };
    let place = names[..settable].iter().position(|known| known == name);
    let known = names[..settable].iter().map(String::as_str);
    let place = place.ok_or_else(|| unknown("variable", name, known))?;
    Ok((place, parsed(rest, names)?))
}

#[cfg(test)]
mod tests {
    use super::super::code::run;
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let names = ["window", "rtt"].map(str::to_owned);
        Ok(run(&expression(text, &names)?, &[10.0, 0.5], &mut Vec::new()))
    }

    #[test]
    fn signs_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3 - 4 / 2", 5.0),
            ("-(1 - 3) * 2", 4.0),
            ("2 - 3 - 4", -5.0),
            ("window * rtt", 5.0),
            ("1e-3 * 1.5E2", 0.15),
            ("if(rtt > 0.4 and not window == 3, 7, 8)", 7.0),
            ("1 < 2 or 0", 1.0),
            ("min(3, max(1, 2)) + abs(-4) + sqrt(9) + cbrt(27)", 12.0),
            ("log2(8) + exp2(3) + floor(2.9)", 13.0),
            ("3 / 0", 0.0),
            ("- - 2", 2.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        for (text, says) in [
            ("", "the end where a number or a name should be"),
            ("1 +", "the end where a number or a name should be"),
            ("1 2", "2 after the end of the expression"),
            ("windw", "unknown name \"windw\"; did you mean \"window\"? known: window, rtt"),
            ("min(1)", "\")\" where \",\" should be"),
            ("sin(1)", "unknown function \"sin\"; did you mean \"min\"?"),
            ("1 ; 2", "\";\" means nothing here"),
            ("1e999", "\"1e999\" is not a number"),
            ("1.2.3", "\"1.2.3\" is not a number"),
            (&deep, "nested more than 64 deep"),
        ] {
            let said = value(text).expect_err(text);
            assert!(said.starts_with(says), "{text}: {said}");
        }
        let long = vec!["1"; 100].join(" + ");
        assert!(value(&long).expect_err("it is long").starts_with("more than 64 steps"));
        let names = ["window", "rtt"].map(str::to_owned);
        let said = assignment("rtt = 3", &names, 1).expect_err("it is not the law's");
        assert!(said.starts_with("unknown variable \"rtt\""), "{said}");
        assert_eq!(assignment("window = 3", &names, 1), Ok((0, vec![Op::Number(3.0)])));
    }
}
