// Columns for Python: numbers as views of memory that stays, names as numbers of distinct texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine.h"
#include "recording.h"

/// Keeps something of the engine alive for C.
struct headroom_object {
  std::shared_ptr<const void> held;
};

namespace headroom::python {

/// Returns NumPy's name of a type of numbers. `bool` is one byte on all supported platforms.
template <typename T>
constexpr const char* TypeName() {
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
  if constexpr (std::is_same_v<T, std::int32_t>) return "<i4";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "<u4";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "|u1";
  if constexpr (std::is_same_v<T, double>) return "<f8";
  if constexpr (std::is_same_v<T, bool>) return "|b1";
}

/// Returns a view of one member of each row of a vector of structures.
///
/// @param first  that member of the first row, read as T; not accessed if there are no rows
/// @param owner  keeps the rows
template <typename T, typename Row>
headroom_array MemberView(const std::vector<Row>& rows, const void* first,
                          std::shared_ptr<const void> owner) {
  if (rows.empty()) return {nullptr, 0, sizeof(T), TypeName<T>(), nullptr};
  return {first, static_cast<std::int64_t>(rows.size()), sizeof(Row), TypeName<T>(),
          new headroom_object{std::move(owner)}};
}

/// Returns a view of consecutive values.
template <typename T>
headroom_array ValuesView(const void* data, std::size_t rows, std::shared_ptr<const void> owner) {
  if (rows == 0) return {nullptr, 0, sizeof(T), TypeName<T>(), nullptr};
  return {data, static_cast<std::int64_t>(rows), sizeof(T), TypeName<T>(),
          new headroom_object{std::move(owner)}};
}

/// Returns an array that owns the values.
template <typename T>
headroom_array OwnArray(std::vector<T> values) {
  const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  return ValuesView<T>(kept->data(), kept->size(), kept);
}

/// Collects distinct texts, one behind the other.
class TextList {
 public:
  /// Adds a text even if it is there already.
  void Add(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
  }
  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  headroom_texts Take(std::vector<std::int64_t> codes) && {
    return {OwnArray(std::move(codes)), OwnArray(std::move(bytes_)), OwnArray(std::move(ends_))};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::int64_t> ends_;
};

/// Returns text_of(row) for each row; no text for an empty one. The strings must stay valid until
/// the call returns.
template <typename TextOf>
headroom_texts TextColumn(std::size_t rows, const TextOf& text_of) {
  TextList texts;
  std::vector<std::int64_t> codes(rows);
  std::unordered_map<std::string_view, std::int64_t> known = {{std::string_view(), -1}};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view text = text_of(row);
    const auto [found, is_new] = known.try_emplace(text, texts.size());
    if (is_new) texts.Add(text);
    codes[row] = found->second;
  }
  return std::move(texts).Take(std::move(codes));
}

/// A column of numbers or of names.
struct Column {
  // NOLINTNEXTLINE(google-explicit-constructor): a column is one of the two.
  Column(headroom_array numbers) : values(numbers) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Column(headroom_texts names) : texts(names), is_text(true) {}

  headroom_array values{};
  headroom_texts texts{};
  bool is_text = false;
};

/// Returns a column of the tasks or the edges by its name, as python/headroom/columns.py documents
/// them. Throws StatusError for an unknown name.
Column TaskColumn(const std::shared_ptr<const Recording>& recording, std::string_view name);
Column EdgeColumn(const std::shared_ptr<const Recording>& recording, std::string_view name);
/// Returns a column of the gradients of all steps: "step", "ready", "forward" or "bytes".
Column GradientColumn(const std::shared_ptr<const Recording>& recording, std::string_view name);

/// Returns "forward", "backward", "optimizer", "data_wait", "host_to_device", "communication",
/// "callback" or "other".
std::string_view NameOfPhase(Phase phase);

}  // namespace headroom::python
