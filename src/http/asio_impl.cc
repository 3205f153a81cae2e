// The one place where the compiled half of Asio is built (BOOST_ASIO_SEPARATE_COMPILATION
// everywhere else).
#ifdef __SANITIZE_THREAD__
// Asio's fences are unknown to ThreadSanitizer, its mutexes are not: it sees all that is ordered.
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
