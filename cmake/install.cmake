# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0

# The static and the shared library can be installed side by side: each has its own file of targets, and
# wafer-config.cmake picks one.
include(CMakePackageConfigHelpers)
get_target_property(library_type wafer TYPE)
set(kind static)
if(library_type STREQUAL SHARED_LIBRARY)
  set(kind shared)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wafer)

install(TARGETS wafer EXPORT wafer-${kind})
install(EXPORT wafer-${kind} NAMESPACE wafer:: FILE wafer-${kind}-targets.cmake DESTINATION ${package_dir})
install(DIRECTORY include/wafer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${generated_include_dir}/wafer/ops.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wafer)

configure_package_config_file(cmake/wafer-config.cmake.in wafer-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(wafer-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wafer-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/wafer-config-version.cmake
        DESTINATION ${package_dir})

# A prefix that can be moved: paths are relative to the file itself.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/wafer.pc.in wafer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wafer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
