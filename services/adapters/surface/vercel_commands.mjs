// Prints every command that an installed Vercel CLI declares, as JSON.
// Usage: node vercel_commands.mjs <folder of node_modules/vercel>
import fs from "node:fs";
import path from "node:path";

const root = process.argv[2];
const chunks = path.join(root, "dist", "chunks");
const declared = [];
for (const file of fs.readdirSync(chunks).filter((name) => name.endsWith(".js"))) {
  let module;
  try {
    module = await import(path.join(chunks, file));
  } catch {
    continue; // a chunk that starts the CLI itself declares nothing
  }
  for (const [key, value] of Object.entries(module)) {
    const command = value && typeof value === "object" && typeof value.name === "string";
    if (command && Array.isArray(value.options) && Array.isArray(value.arguments)) {
      declared.push({ key, ...value });
    }
  }
}
const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
const plain = (key, value) => (typeof value === "function" ? value.name : value);
process.stdout.write(JSON.stringify({ version, declared }, plain) + "\n", () => process.exit(0));
