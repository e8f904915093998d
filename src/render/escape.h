// Text of a trace made safe for where it is shown. Names in a trace are hostile: they may hold
// escape sequences, line breaks, text that turns direction, markup, formulas, commands and invalid
// UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// What the reader of plain text can display.
enum class Charset { kUtf8, kAscii };

/// One line of printable text: control characters, line breaks and characters that hide or turn
/// text become \n, \x1b or \u202e; invalid UTF-8 becomes U+FFFD; for kAscii everything beyond ASCII
/// becomes \u....
std::string Printable(std::string_view text, Charset charset = Charset::kUtf8);

/// Columns that printable text takes on a terminal: 2 for wide East Asian characters and emoji,
/// else 1 a code point.
std::size_t DisplayWidth(std::string_view printable);

/// Printable text cut to `width` columns with an ellipsis in its middle; whole where it fits.
/// REQUIRES: width >= 8.
std::string CutMiddle(std::string_view printable, std::size_t width,
                      Charset charset = Charset::kUtf8);
/// The same, but the name of the file that a path ends with stays whole where it fits.
std::string CutPath(std::string_view printable, std::size_t width,
                    Charset charset = Charset::kUtf8);
/// The same as CutMiddle, but what stands at byte `at` stays visible: the first `head` columns, an
/// ellipsis, a piece from `at` or a little before it, and the end or another ellipsis. REQUIRES:
/// width >= 16, head <= width / 2.
std::string CutAround(std::string_view printable, std::size_t width, std::size_t at,
                      Charset charset, std::size_t head);

/// Printable text for Markdown, table cells included, in which nothing of `text` acts: no tag,
/// link, mention, reference to an issue, emphasis, code span or cell border.
std::string EscapeMarkdown(std::string_view text);

/// A name of the trace for Markdown, table cells included: as `code`, in which nothing acts, unless
/// it holds what ends one; else escaped.
std::string MarkdownName(std::string_view name);

/// A code span that holds exactly the printable form of `text`, whatever backticks it has. Not for
/// table cells.
std::string MarkdownCode(std::string_view text);

/// A field of a CSV file (RFC 4180), quoted where it must be. Invalid UTF-8 becomes U+FFFD. Text
/// that a spreadsheet would take for a formula (it begins with = + - @, a tab or a line break, and
/// is no number) gets a ' before it.
std::string CsvField(std::string_view text);

/// The same text, but for bytes that are not UTF-8, which become U+FFFD.
std::string ValidUtf8(std::string_view text);

/// Lines of printable text: the same as Printable() of each, whether it ends in \n or \r\n. What a
/// line break within a field of CSV divides are two lines.
std::string PrintableLines(std::string_view text, Charset charset = Charset::kUtf8);

/// A JSON string with its quotes, in printable characters; invalid UTF-8 becomes U+FFFD.
std::string JsonString(std::string_view text);

/// One word for a POSIX shell that stands for exactly `text`, in printable characters: plain, '...'
/// or, where it holds anything else, "$(printf '...')" with octal escapes (with a line break at its
/// end $'...', which bash and zsh know).
std::string ShellQuote(std::string_view text, Charset charset = Charset::kUtf8);

/// A path that no command takes for an option: one that begins with a dash gets a ./ before it.
std::string PathArgument(std::string_view path);

/// Bytes of the longest prefix of printable text that is at most `width` columns wide.
std::size_t PrefixBytes(std::string_view printable, std::size_t width);

}  // namespace headroom
