// Columns of the graph as numpy arrays: numbers as read-only views of the graph, names as arrays of
// str with one object per distinct name.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording.h"

namespace headroom::python {

/// Keeps `owner` alive while an array refers to it.
template <typename T>
pybind11::capsule KeepAlive(std::shared_ptr<const T> owner) {
  return {new std::shared_ptr<const T>(std::move(owner)),
          [](void* kept) { delete static_cast<std::shared_ptr<const T>*>(kept); }};
}

inline void MakeReadOnly(pybind11::array& array) { array.attr("setflags")(false); }

/// A read-only view of one member of each row of a vector of structures.
///
/// @param first  that member of the first row, read as T; not accessed if there are no rows
template <typename T, typename Row>
pybind11::array MemberView(const std::vector<Row>& rows, const void* first,
                           const pybind11::capsule& owner) {
  pybind11::array array = rows.empty()
                              ? pybind11::array_t<T>(0)
                              : pybind11::array_t<T>({static_cast<pybind11::ssize_t>(rows.size())},
                                                     {static_cast<pybind11::ssize_t>(sizeof(Row))},
                                                     static_cast<const T*>(first), owner);
  MakeReadOnly(array);
  return array;
}

/// A read-only array that owns the values.
template <typename T>
pybind11::array OwnArray(std::vector<T> values) {
  const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  pybind11::array array = pybind11::array_t<T>(kept->size(), kept->data(), KeepAlive(kept));
  MakeReadOnly(array);
  return array;
}

/// A read-only array of str: text_of(row) for each row; None for an empty text. Invalid UTF-8 in a
/// name becomes U+FFFD. The strings must stay valid until the call returns.
template <typename TextOf>
pybind11::array TextColumn(std::size_t rows, const TextOf& text_of) {
  namespace py = pybind11;
  py::array array(py::dtype("O"), std::vector<py::ssize_t>{static_cast<py::ssize_t>(rows)});
  auto** const cells = static_cast<PyObject**>(array.mutable_data());
  std::unordered_map<std::string_view, py::object> known;
  known.emplace(std::string_view(), py::none());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view text = text_of(row);
    auto found = known.find(text);
    if (found == known.end()) {
      PyObject* const decoded =
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
      if (decoded == nullptr) throw py::error_already_set();
      found = known.emplace(text, py::reinterpret_steal<py::object>(decoded)).first;
    }
    Py_XSETREF(cells[row], found->second.inc_ref().ptr());
  }
  MakeReadOnly(array);
  return array;
}

/// Returns a column of the tasks or the edges by its name, as python/headroom/columns.py documents
/// them.
pybind11::array TaskColumn(const std::shared_ptr<const Recording>& recording,
                           std::string_view name);
pybind11::array EdgeColumn(const std::shared_ptr<const Recording>& recording,
                           std::string_view name);
/// Returns a column of the gradients of all steps: "step", "ready", "forward" or "bytes".
pybind11::array GradientColumn(const std::shared_ptr<const Recording>& recording,
                               std::string_view name);

/// Returns "forward", "backward", "optimizer", "data_wait", "host_to_device", "communication",
/// "callback" or "other".
std::string_view NameOfPhase(Phase phase);

}  // namespace headroom::python
