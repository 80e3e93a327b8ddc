// The members of watcher<T>, for the file that instantiates it.
#pragma once

#include <tern/client/watcher.hpp>

#include "client/core/item_queue.hpp"
#include "client/jetstream/ordered_core.hpp"

namespace tern::client {

template <class T>
watcher<T>::watcher(std::shared_ptr<detail::ordered_core> core, std::shared_ptr<detail::item_queue<T>> items)
    : core_(std::move(core)), items_(std::move(items)) {}
template <class T>
watcher<T>::watcher(watcher&&) noexcept = default;

template <class T>
watcher<T>& watcher<T>::operator=(watcher&& other) noexcept {
  if (this != &other) {
    stop();
    core_ = std::move(other.core_);
    items_ = std::move(other.items_);
  }
  return *this;
}

template <class T>
watcher<T>::~watcher() {
  stop();
}

template <class T>
void watcher<T>::stop() {
  if (core_) core_->stop();
  if (items_) items_->stop();
}

template <class T>
operation<T> watcher<T>::next() {
  if (!items_) return operation<T>::ended(fail(errc::closed, "nothing is watched"));
  return items_->next();
}

template <class T>
std::optional<typename watcher<T>::item> watcher<T>::try_next() {
  return items_ ? items_->try_next() : std::nullopt;
}

template <class T>
bool watcher<T>::ended() const {
  return !items_ || items_->ended();
}

}  // namespace tern::client
