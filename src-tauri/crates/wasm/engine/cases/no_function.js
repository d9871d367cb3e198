function main() {}
