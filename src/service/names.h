/// Names that may become part of a URL path of the API server.
#pragma once

#include "client/object_name.h"

namespace tessera::service {

using client::is_object_name;

}  // namespace tessera::service
