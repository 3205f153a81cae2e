/// The calling thread gives way to others.
#pragma once

namespace tessera {

/// Where processors are short, decisions come first: an idle thread gives way to a call in the
/// instant it arrives, a merely nice one keeps its processor for some milliseconds more. On Linux
/// both concern the calling thread alone, and need no right. Such a thread must hold no lock for
/// longer than a moment that others wait for.
void step_back();

}  // namespace tessera
