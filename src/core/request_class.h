/// What decides a request's verdict on a node, as bytes: two requests with the same key get the
/// same answer from every node, whoever asks. Not in it: the pod's names, its UID and its quota
/// subject. Thread rule: pure function.
#pragma once

#include <string>

#include "core/request.h"

namespace tessera::core {

/// Replaces `key`, whose memory is used again.
void write_class_key(const Request& request, std::string& key);

}  // namespace tessera::core
