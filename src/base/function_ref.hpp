// A callable argument that is only called during the call it is passed to: two words, no allocation, no copy.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tern {

template <class Signature>
class function_ref;

// Refers to the caller's callable; must not be kept.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  function_ref(Callable&& target)  // NOLINT(google-explicit-constructor): an argument type
      : target_(const_cast<void*>(static_cast<const void*>(std::addressof(target)))),
        call_([](void* callable, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(callable))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(target_, std::forward<Arguments>(arguments)...); }

 private:
  void* target_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace tern
