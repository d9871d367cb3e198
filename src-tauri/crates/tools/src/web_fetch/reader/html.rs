//! The readable content of an HTML page, as Markdown.
//!
//! Owns the choice between the article that Readability finds and the whole page without its frame (menus, banners,
//! scripts): an article counts when it holds a good part of the page's text. Hidden elements are left out: a person would
//! not see them. Pitfall: Readability takes a list of links for a menu, so a front page has no article.

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, HrStyle, Options};
use reqwest::Url;

use super::Reading;

/// Never content.
const NEVER: &str = "script, style, noscript, template, iframe, object, embed, canvas, svg, dialog, \
     [hidden], [aria-hidden=\"true\"], [style*=\"display:none\"], [style*=\"display: none\"], \
     [style*=\"visibility:hidden\"], [style*=\"visibility: hidden\"]";

/// The frame of a page.
const FRAME: &str = "nav, aside, footer, form, button, select, input, [role=\"navigation\"], [role=\"banner\"], \
     [role=\"contentinfo\"], [role=\"search\"], [role=\"dialog\"], [role=\"alertdialog\"], [id*=\"cookie\"], [class*=\"cookie\"], \
     [id*=\"consent\"], [class*=\"consent\"], body > header";

/// The least characters of an article.
const LEAST: usize = 250;

/// The page at `url`.
pub(super) fn read(html: &str, url: &str) -> Reading {
    let page = Document::from(html);
    let title = title(&page);
    let base = base(&page, url);
    page.select(NEVER).remove();
    let article = article(&page, url);
    page.select(FRAME).remove();
    let whole = main_of(&page);
    let is_article = |article: &Document| {
        let (article, whole) = (letters(&article.text()), letters(&whole.text()));
        article >= LEAST && article * 5 >= whole * 2
    };
    let content = article.filter(is_article).unwrap_or(whole);
    prepare(&content, base.as_ref());
    Reading { title, text: markdown(&content.html()), note: None }
}

fn title(page: &Document) -> Option<String> {
    let of_head = page.select("head > title").first().text().trim().to_owned();
    let title = if of_head.is_empty() {
        page.select("h1").first().text().trim().to_owned()
    } else {
        of_head
    };
    Some(title).filter(|title| !title.is_empty())
}

/// What links are relative to.
fn base(page: &Document, url: &str) -> Option<Url> {
    let page_url = Url::parse(url).ok()?;
    let base = page.select("base[href]").first().attr("href");
    base.and_then(|base| page_url.join(&base).ok()).or(Some(page_url))
}

/// The article of a page, as Readability (the reader view of Firefox) finds it.
fn article(page: &Document, url: &str) -> Option<Document> {
    let config = Config { keep_classes: true, ..Config::default() };
    let copy = Document::from(page.html());
    let mut readability = Readability::with_document(copy, Some(url), Some(config)).ok()?;
    let article = readability.parse().ok()?;
    Some(Document::from(article.content))
}

/// The main part of a page where it names one, or all of it.
fn main_of(page: &Document) -> Document {
    let main = page.select("main, [role=\"main\"]");
    let part = if main.length() == 1 { main.html() } else { page.select("body").html() };
    Document::from(part)
}

fn letters(text: &str) -> usize {
    text.chars().filter(|character| !character.is_whitespace()).count()
}

/// Makes links absolute and tables such as Markdown has them, and takes out pictures that say nothing.
fn prepare(content: &Document, base: Option<&Url>) {
    for link in content.select("a[href]").nodes() {
        match link.attr("href").and_then(|href| absolute(&href, base)) {
            Some(href) => link.set_attr("href", &href),
            None => link.remove_attr("href"),
        }
    }
    for image in content.select("img").nodes() {
        let has_words = image.attr("alt").is_some_and(|alt| !alt.trim().is_empty());
        match image.attr("src").and_then(|src| absolute(&src, base)).filter(|_| has_words) {
            Some(src) => image.set_attr("src", &src),
            None => image.remove_from_parent(),
        }
    }
    for table in content.select("table").nodes() {
        prepare_table(table);
    }
}

/// An address of the web or of mail; none for scripts, data and places in the same page.
fn absolute(href: &str, base: Option<&Url>) -> Option<String> {
    let href = href.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let url = base.map_or_else(|| Url::parse(href), |base| base.join(href)).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
}

/// Markdown has exactly one row of headings. Cells that name a row are cells; a table without headings gets its first row.
fn prepare_table(table: &NodeRef<'_>) {
    let parts: Vec<_> = table.descendants_it().collect();
    let rows: Vec<_> = parts.iter().filter(|part| part.has_name("tr")).collect();
    let Some((first, others)) = rows.split_first() else { return };
    // A table in a table, or one of a single column, only places things on a screen.
    if parts.iter().any(|part| part.has_name("table")) || cells(first).len() < 2 {
        return;
    }
    cells(first).iter().for_each(|cell| cell.rename("th"));
    for row in others {
        cells(row).iter().for_each(|cell| cell.rename("td"));
    }
}

fn markdown(html: &str) -> String {
    let options = Options {
        hr_style: HrStyle::Dashes,
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).build();
    let text = converter.convert(html).unwrap_or_default();
    tidy(&crate::text::plain_text(&text))
}

/// Without the spaces that align a table, which cost a model as much as words, and without runs of empty lines.
fn tidy(markdown: &str) -> String {
    let (mut tidy, mut is_code, mut empty) = (String::with_capacity(markdown.len()), false, 0);
    for line in markdown.lines() {
        let line = line.trim_end();
        is_code ^= line.trim_start().starts_with("```");
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty > 1 && !is_code {
            continue;
        }
        if line.starts_with('|') && !is_code {
            push_row(&mut tidy, line);
        } else {
            tidy.push_str(line);
        }
        tidy.push('\n');
    }
    tidy.trim().to_owned()
}

fn push_row(tidy: &mut String, row: &str) {
    let is_rule = row.chars().all(|character| matches!(character, '|' | '-' | ' ' | ':'));
    let words = row.split(' ').filter(|word| !word.is_empty());
    let words = words.map(|word| if is_rule && word.starts_with('-') { "---" } else { word });
    let row: Vec<&str> = words.collect();
    tidy.push_str(&row.join(" "));
}

fn cells<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|cell| cell.has_name("td") || cell.has_name("th")).collect()
}
