// Lines of a terminal page: wrapping, tables and bars within a fixed width, with or without styles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "render/escape.h"

namespace headroom {

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad, kAccent };

/// A piece of a line. Its text may contain anything: the page makes it printable.
struct Span {
  std::string text;
  Style style = Style::kPlain;
};

/// One column of a table.
struct TextColumn {
  enum class Kind {
    kText,    ///< Left-aligned.
    kNumber,  ///< Right-aligned.
    kName,    ///< Takes the remaining width; long names are shortened and stay different.
    kKernel,  ///< The same for kernel signatures.
  };
  std::string head;
  Kind kind = Kind::kNumber;
  bool optional = false;  ///< Dropped from narrow pages, the last such column first.
};

/// Properties of a page for a terminal or a file.
struct PageStyle {
  /// Width of a page that is not for a terminal.
  static constexpr std::size_t kWidth = 100;
  /// Terminal widths outside this range use the nearest limit.
  static constexpr std::size_t kMinWidth = 60, kMaxWidth = 200;

  bool color = false;
  Charset charset = Charset::kUtf8;
  std::size_t width = kWidth;  ///< Columns, from kMinWidth to kMaxWidth.
};

/// Collects lines. Only a table's numbers may make a line wider than the page.
class TextPage {
 public:
  explicit TextPage(const PageStyle& style) : style_(style) {}

  Charset charset() const { return style_.charset; }
  std::size_t width() const { return style_.width; }

  /// Adds an empty line, unless the page is empty.
  void Blank();
  /// Adds one line and cuts it at the page width.
  void Line(const std::vector<Span>& spans);
  /// Adds a heading, followed by a rule up to the right edge.
  void Heading(std::string_view title, std::string_view note, Style note_style);
  /// Adds text wrapped between words. `first` begins the first line, and later lines are indented
  /// to its width.
  void Paragraph(std::string_view first, std::string_view text, Style first_style = Style::kPlain,
                 Style text_style = Style::kPlain);
  /// Adds a table indented by two. Omits columns that are empty in every row. Name cells contain
  /// raw names. Numbers are never cut, because the remaining digits would be a different number:
  /// wide numbers extend the line.
  void Table(const std::vector<TextColumn>& columns, const std::vector<std::vector<Span>>& rows);
  /// Adds a shell command after `first`. A long command continues on the next lines in a form that
  /// can still be copied.
  void Command(std::string_view first, const std::vector<std::string>& words,
               Style first_style = Style::kPlain);

  /// Returns a bar of `width` columns for `part` of `whole`. Draws the first `solid` of it solid,
  /// and the rest light.
  std::vector<Span> Bar(double solid, double part, double whole, std::size_t width) const;

  std::string Take() && { return std::move(out_); }

 private:
  void Append(std::string_view printable, Style style);
  void LineWithin(std::size_t width, const std::vector<Span>& spans);

  PageStyle style_;
  std::string out_;
};

}  // namespace headroom
