//! Conversion of HTML to Markdown.
//!
//! Owns the choice between Readability's article and the whole page without the frame (menus, banners, scripts): an
//! article counts if it holds a good part of the page's text. Drops hidden elements. Pitfall: Readability takes a list
//! of links for a menu, so a front page has no article.

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, HrStyle, Options};
use reqwest::Url;

use super::page_text::PageText;

/// Elements without visible content.
const HIDDEN: &str = "script, style, noscript, template, iframe, object, embed, canvas, svg, dialog, \
     [hidden], [aria-hidden=\"true\"], [style*=\"display:none\"], [style*=\"display: none\"], \
     [style*=\"visibility:hidden\"], [style*=\"visibility: hidden\"]";

/// Navigation and page furniture.
const FRAME: &str = "nav, aside, footer, form, button, select, input, [role=\"navigation\"], [role=\"banner\"], \
     [role=\"contentinfo\"], [role=\"search\"], [role=\"dialog\"], [role=\"alertdialog\"], [id*=\"cookie\"], [class*=\"cookie\"], \
     [id*=\"consent\"], [class*=\"consent\"], body > header";

/// Minimum size of an article in characters.
const MIN_ARTICLE_CHARS: usize = 250;

/// Reads the page at `url`.
pub(super) fn read(html: &str, url: &str) -> PageText {
    let page = Document::from(html);
    let title = find_title(&page);
    let base = base_url(&page, url);
    page.select(HIDDEN).remove();
    let article = extract_article(&page, url);
    page.select(FRAME).remove();
    let main = extract_main(&page);
    let is_article = |article: &Document| {
        let (article, main) = (count_letters(&article.text()), count_letters(&main.text()));
        article >= MIN_ARTICLE_CHARS && article * 5 >= main * 2
    };
    let content = article.filter(is_article).unwrap_or(main);
    normalize_content(&content, base.as_ref());
    PageText { title, text: to_markdown(&content.html()), note: None }
}

fn find_title(page: &Document) -> Option<String> {
    let text = |selector: &str| page.select(selector).first().text().trim().to_owned();
    [text("head > title"), text("h1")].into_iter().find(|title| !title.is_empty())
}

/// The base of relative links.
fn base_url(page: &Document, url: &str) -> Option<Url> {
    let page_url = Url::parse(url).ok()?;
    let base = page.select("base[href]").first().attr("href");
    base.and_then(|base| page_url.join(&base).ok()).or(Some(page_url))
}

/// The article found by Readability (the reader view of Firefox).
fn extract_article(page: &Document, url: &str) -> Option<Document> {
    let config = Config { keep_classes: true, ..Config::default() };
    let copy = Document::from(page.html());
    let mut readability = Readability::with_document(copy, Some(url), Some(config)).ok()?;
    let article = readability.parse().ok()?;
    Some(Document::from(article.content))
}

/// The main element, if unique, or the body.
fn extract_main(page: &Document) -> Document {
    let main = page.select("main, [role=\"main\"]");
    let part = if main.length() == 1 { main.html() } else { page.select("body").html() };
    Document::from(part)
}

fn count_letters(text: &str) -> usize {
    text.chars().filter(|character| !character.is_whitespace()).count()
}

/// Makes links absolute, adapts tables to Markdown, and removes images without alternative text.
fn normalize_content(content: &Document, base: Option<&Url>) {
    for link in content.select("a[href]").nodes() {
        match link.attr("href").and_then(|href| absolute_url(&href, base)) {
            Some(href) => link.set_attr("href", &href),
            None => link.remove_attr("href"),
        }
    }
    for image in content.select("img").nodes() {
        let has_alt = image.attr("alt").is_some_and(|alt| !alt.trim().is_empty());
        match image.attr("src").and_then(|src| absolute_url(&src, base)).filter(|_| has_alt) {
            Some(src) => image.set_attr("src", &src),
            None => image.remove_from_parent(),
        }
    }
    for table in content.select("table").nodes() {
        normalize_table(table);
    }
}

/// Resolves a web or mail address; `None` for scripts, data and fragments.
fn absolute_url(href: &str, base: Option<&Url>) -> Option<String> {
    let href = href.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let url = base.map_or_else(|| Url::parse(href), |base| base.join(href)).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
}

/// Gives a table exactly one header row, the first row, as Markdown requires.
fn normalize_table(table: &NodeRef<'_>) {
    let parts: Vec<_> = table.descendants_it().collect();
    let rows: Vec<_> = parts.iter().filter(|part| part.has_name("tr")).collect();
    let Some((first, others)) = rows.split_first() else { return };
    // A nested or single-column table is used for layout.
    if parts.iter().any(|part| part.has_name("table")) || cells(first).len() < 2 {
        return;
    }
    cells(first).iter().for_each(|cell| cell.rename("th"));
    for row in others {
        cells(row).iter().for_each(|cell| cell.rename("td"));
    }
}

fn to_markdown(html: &str) -> String {
    let options = Options {
        hr_style: HrStyle::Dashes,
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).build();
    let text = converter.convert(html).unwrap_or_default();
    compact_markdown(&crate::text::plain_text(&text))
}

/// Removes alignment spaces of tables and repeated empty lines, which cost tokens.
fn compact_markdown(markdown: &str) -> String {
    let (mut compact, mut is_code, mut empty) = (String::with_capacity(markdown.len()), false, 0);
    for line in markdown.lines() {
        let line = line.trim_end();
        is_code ^= line.trim_start().starts_with("```");
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty > 1 && !is_code {
            continue;
        }
        if line.starts_with('|') && !is_code {
            push_row(&mut compact, line);
        } else {
            compact.push_str(line);
        }
        compact.push('\n');
    }
    compact.trim().to_owned()
}

fn push_row(text: &mut String, row: &str) {
    let is_rule = row.chars().all(|character| matches!(character, '|' | '-' | ' ' | ':'));
    let words = row.split(' ').filter(|word| !word.is_empty());
    let words = words.map(|word| if is_rule && word.starts_with('-') { "---" } else { word });
    let row: Vec<&str> = words.collect();
    text.push_str(&row.join(" "));
}

fn cells<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|cell| cell.has_name("td") || cell.has_name("th")).collect()
}
