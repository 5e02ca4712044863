//! Texts that strangers bring: what in them a terminal would obey, hide or reorder.

/// Whether a terminal obeys `sign`, hides it, or orders its neighbours by it: controls, formats,
/// separators of lines (Unicode's categories Cc, Cf, Zl, Zp).
pub fn is_obeyed(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// `text` with what a terminal would obey written as its code: what a stranger says, for people.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        if is_obeyed(sign) {
            plain.extend(sign.escape_unicode());
        } else {
            plain.push(sign);
        }
    }
    plain
}

/// What keeps `text` from being the name of something in tables, files and figures: it is empty,
/// has a sign that terminals obey, or begins as a formula of a spreadsheet does. `None` if nothing
/// does.
pub fn wrong_name(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("is empty; try \"a\"")
    } else if text.contains(is_obeyed) {
        Some("has a control or invisible character, which terminals obey; leave it out")
    } else if text.starts_with(['=', '+', '-', '@']) {
        Some("begins as a spreadsheet's formula does; begin it with a letter or a digit")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_deceive_a_reader_are_no_part_of_a_name() {
        for name in
            ["", "a\u{1b}[31m", "a\nb", "a\u{202e}b", "\u{feff}a", "a\u{200b}", "=1+1", "@a"]
        {
            assert!(wrong_name(name).is_some(), "{name:?}");
        }
        for name in ["a", "web 1", "größe", "视频", "c=1", "<b>"] {
            assert_eq!(wrong_name(name), None, "{name:?}");
        }
    }
}
