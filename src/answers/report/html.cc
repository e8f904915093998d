#include "answers/report/html.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>
#include <utility>

#include "render/base64.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

Status Broken(std::string_view what) {
  return Status::Environment(fmt::format("the built-in page {}: rebuild ui/", what));
}

std::string_view FileNamed(std::span<const NamedText> page, std::string_view name) {
  for (const NamedText& file : page) {
    if (file.name == name || file.name.ends_with(fmt::format("/{}", name))) return file.content;
  }
  return {};
}

/// Returns the source expression of a Content-Security-Policy that allows only this script or
/// style.
std::string HashSource(std::string_view content) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), hash.data());
  return fmt::format("'sha256-{}'", Base64(std::string_view(
                                        reinterpret_cast<const char*>(hash.data()), hash.size())));
}

/// Returns a Content-Security-Policy that allows this script, this style and inline images, but no
/// network.
std::string PolicyTag(std::string_view script, std::string_view style) {
  return fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; "
      "style-src {}; img-src data:; base-uri 'none'; form-action 'none'\" />",
      HashSource(script), HashSource(style));
}

/// Returns JSON that cannot end or nest a script element, or end a line in JavaScript. The escaped
/// characters occur only in strings.
std::string EscapeForScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (rest.front() == '<') {
      out += "\\u003c";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      out += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += rest.front();
    }
  }
  return out;
}

std::string AnswersElement(std::span<const PageAnswer> answers) {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  for (const PageAnswer& answer : answers) json.Key(answer.path).Raw(answer.json);
  json.EndObject();
  return fmt::format("<script type=\"application/json\" id=\"answers\">{}</script>",
                     EscapeForScript(std::move(json).Take()));
}

/// Replaces the element from `begin` to `end` that names `file` with `by`. Returns false if no
/// element does.
bool ReplaceElement(std::string& html, std::string_view file, std::string_view begin,
                    std::string_view end, std::string_view by) {
  const std::size_t named = html.find(file);
  const std::size_t first = html.rfind(begin, named);
  const std::size_t last = html.find(end, named);
  if (named == std::string::npos || first == std::string::npos || last == std::string::npos)
    return false;
  html.replace(first, last + end.size() - first, by);
  return true;
}

}  // namespace

Result<std::string> RenderHtml(std::span<const NamedText> page,
                               std::span<const PageAnswer> answers) {
  std::string html(FileNamed(page, "index.html"));
  const std::string_view script = FileNamed(page, "app.js"), style = FileNamed(page, "app.css");
  for (const std::string_view ending : {"</script", "<!--", "</style"}) {
    if (script.find(ending) != std::string_view::npos ||
        style.find(ending) != std::string_view::npos)
      return Broken(fmt::format("holds {}, which ends a script or style", ending));
  }
  const bool is_whole =
      ReplaceElement(html, "app.css", "<link", ">", fmt::format("<style>{}</style>", style)) &&
      ReplaceElement(html, "charset", "<meta", ">",
                     "<meta charset=\"utf-8\" />\n    " + PolicyTag(script, style)) &&
      ReplaceElement(html, "app.js", "<script", "</script>",
                     fmt::format("{}\n    <script type=\"module\">{}</script>",
                                 AnswersElement(answers), script));
  if (!is_whole) return Broken("has no index.html that names app.js and app.css");
  return html;
}

}  // namespace headroom
