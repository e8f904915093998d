// Makes text of a trace safe for its output format. Names in a trace are hostile: they may contain
// escape sequences, line breaks, bidirectional overrides, markup, formulas, commands and invalid
// UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// Character set of plain-text output.
enum class Charset { kUtf8, kAscii };

/// Returns one line of printable text. Control characters, line breaks and characters that hide or
/// reorder text become escapes, such as \n, \x1b or \u202e. Invalid UTF-8 becomes U+FFFD. For
/// kAscii, everything outside ASCII becomes an escape such as \u20ac.
std::string Printable(std::string_view text, Charset charset = Charset::kUtf8);

/// Returns the columns that printable text takes on a terminal: 2 for wide East Asian characters
/// and emoji, else 1 per code point.
std::size_t DisplayWidth(std::string_view printable);

/// Returns printable text cut to `width` columns with an ellipsis in its middle; unchanged if it
/// fits. REQUIRES: width >= 8.
std::string CutMiddle(std::string_view printable, std::size_t width,
                      Charset charset = Charset::kUtf8);
/// Cuts as CutMiddle() does, but keeps the file name at the end of a path if the name fits.
std::string CutPath(std::string_view printable, std::size_t width,
                    Charset charset = Charset::kUtf8);
/// Cuts as CutMiddle() does, but keeps the text at byte `at` visible. The result is the first
/// `head` columns, an ellipsis, a piece from `at` or slightly before, and the end or another
/// ellipsis. REQUIRES: width >= 16, head <= width / 2.
std::string CutAround(std::string_view printable, std::size_t width, std::size_t at,
                      Charset charset, std::size_t head);

/// Returns printable text for Markdown, including table cells, without active markup: no tag, link,
/// mention, issue reference, emphasis, code span or cell border.
std::string EscapeMarkdown(std::string_view text);

/// Returns a name of the trace for Markdown, including table cells. The name is shown as `code`, in
/// which markup is inactive, or escaped if it contains characters that end a code span.
std::string MarkdownName(std::string_view name);

/// Returns a code span with exactly the printable form of `text`, including backticks. The span is
/// not valid in table cells.
std::string MarkdownCode(std::string_view text);

/// Returns a field of a CSV file (RFC 4180), quoted if necessary. Invalid UTF-8 becomes U+FFFD. A
/// leading ' protects text that a spreadsheet would treat as a formula: text that begins with = + -
/// @, a tab or a line break and is not a number.
std::string CsvField(std::string_view text);

/// Returns the text with invalid UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

/// Returns Printable() of each line. Lines end in \n or \r\n. Also splits at line breaks inside CSV
/// fields.
std::string PrintableLines(std::string_view text, Charset charset = Charset::kUtf8);

/// Returns a JSON string with quotes, in printable characters; invalid UTF-8 becomes U+FFFD.
std::string JsonString(std::string_view text);

/// Returns one word for a POSIX shell that evaluates to exactly `text`, in printable characters. It
/// is plain, '...', or for other characters "$(printf '...')" with octal escapes. With a line break
/// at its end it is $'...', which bash and zsh support.
std::string ShellQuote(std::string_view text, Charset charset = Charset::kUtf8);

/// Returns a path that no command parses as an option: adds ./ before a leading dash.
std::string PathArgument(std::string_view path);

/// Returns the bytes of the longest prefix of printable text that is at most `width` columns wide.
std::size_t PrefixBytes(std::string_view printable, std::size_t width);

}  // namespace headroom
