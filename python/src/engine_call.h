// What all functions of engine.h share: objects for C, and exceptions as codes.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "columns.h"
#include "engine.h"
#include "recording.h"

namespace headroom::python {

/// Returns the code of the exception in flight, and keeps its message for headroom_message().
int Failed() noexcept;

/// Runs the work of one function.
template <typename Work>
int Call(const Work& work) noexcept {
  try {
    work();
    return HEADROOM_OK;
  } catch (...) {
    return Failed();
  }
}

/// Returns what an object holds. The caller guarantees the kind.
template <typename T>
std::shared_ptr<const T> Shared(const headroom_object* object) {
  return std::static_pointer_cast<const T>(object->held);
}
template <typename T>
const T& As(const headroom_object* object) {
  return *static_cast<const T*>(object->held.get());
}

template <typename T>
headroom_object* Give(std::shared_ptr<T> made) {
  return new headroom_object{std::move(made)};
}
inline headroom_object* GiveText(std::string text) {
  return Give(std::make_shared<const std::string>(std::move(text)));
}

JobOptions OptionsOf(const headroom_options& given);

}  // namespace headroom::python
