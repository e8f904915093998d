// Lines of a terminal page: wrapping, tables and bars within a fixed width, styled or not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "render/escape.h"

namespace headroom {

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad, kAccent };

/// A piece of a line. Its text may be anything: the page makes it printable.
struct Span {
  std::string text;
  Style style = Style::kPlain;
};

/// One column of a table.
struct TextColumn {
  enum class Kind {
    kText,    ///< Left-aligned.
    kNumber,  ///< Right-aligned.
    kName,    ///< Takes the room that is left; long names are shortened, and stay different.
    kKernel,  ///< The same for kernel signatures.
  };
  std::string head;
  Kind kind = Kind::kNumber;
  bool optional = false;  ///< Left out of narrow pages, the last such column first.
};

/// What a page is for: a terminal, or a file.
struct PageStyle {
  /// Columns of a page that is not for a terminal.
  static constexpr std::size_t kWidth = 100;
  /// A terminal narrower or wider than these gets a page of the nearest width.
  static constexpr std::size_t kMinWidth = 60, kMaxWidth = 200;

  bool color = false;
  Charset charset = Charset::kUtf8;
  std::size_t width = kWidth;  ///< Columns, from kMinWidth to kMaxWidth.
};

/// Collects lines, none wider than the page unless a table's numbers need more.
class TextPage {
 public:
  explicit TextPage(const PageStyle& style) : style_(style) {}

  Charset charset() const { return style_.charset; }
  std::size_t width() const { return style_.width; }

  /// An empty line, unless the page is empty.
  void Blank();
  /// One line; what does not fit is cut off.
  void Line(const std::vector<Span>& spans);
  /// A heading with a rule behind it to the right edge.
  void Heading(std::string_view title, std::string_view note, Style note_style);
  /// Text wrapped between words; `first` begins the first line, and the following ones are indented
  /// as far.
  void Paragraph(std::string_view first, std::string_view text, Style first_style = Style::kPlain,
                 Style text_style = Style::kPlain);
  /// A table indented by two. Columns that are empty in every row are left out. Cells of names are
  /// raw names. A number is never cut off, as what is left of it is another: where numbers reach
  /// beyond the width, so do the lines.
  void Table(const std::vector<TextColumn>& columns, const std::vector<std::vector<Span>>& rows);
  /// A shell command behind `first`; one too long for a line goes on in the next ones so that it
  /// can still be copied.
  void Command(std::string_view first, const std::vector<std::string>& words,
               Style first_style = Style::kPlain);

  /// A bar of `width` columns in all for `part` of `whole`, its first `solid` drawn solid and the
  /// rest light.
  std::vector<Span> Bar(double solid, double part, double whole, std::size_t width) const;

  std::string Take() && { return std::move(out_); }

 private:
  void Append(std::string_view printable, Style style);
  void LineWithin(std::size_t width, const std::vector<Span>& spans);

  PageStyle style_;
  std::string out_;
};

}  // namespace headroom
