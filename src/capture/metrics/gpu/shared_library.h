// A library that is opened at run time, if it exists.
#pragma once

#include <string>
#include <vector>

namespace headroom {

class SharedLibrary {
 public:
  /// Opens the first of `names` that exists. If none exists, ok() is false.
  explicit SharedLibrary(const std::vector<std::string>& names);
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  ~SharedLibrary();

  bool ok() const { return handle_ != nullptr; }

  /// Sets `function` to the symbol of that name, or to null. Returns true if the symbol exists.
  template <typename Function>
  bool Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(Symbol(name));
    return function != nullptr;
  }

 private:
  void* Symbol(const char* name) const;

  void* handle_ = nullptr;
};

}  // namespace headroom
