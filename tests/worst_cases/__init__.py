"""The most expensive inputs, and how much work the code does for them."""
