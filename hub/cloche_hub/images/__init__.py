"""Images: recipes in, a kernel, an initrd and a root file system out, kept in a cache that processes share."""
