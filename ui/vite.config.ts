import { readFileSync } from "node:fs";
import preact from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";
import { dependencies } from "./package.json";

/** Copies of a library must contain its licence, also when they are inside the program or a page that is a file. */
const licences = (): Plugin => ({
  name: "licences",
  generateBundle(_options, bundle) {
    const texts = Object.keys(dependencies).map(
      (name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}`,
    );
    const app = bundle["app.js"];
    if (app?.type !== "chunk") throw new Error("no app.js to hold the licences");
    app.code = `/*! This file contains:\n\n${texts.join("\n\n---\n\n")}\n*/\n${app.code}`;
  },
});

// Built files have names that do not change: they are part of the program, which tells browsers to keep nothing.
export default defineConfig({
  plugins: [preact(), licences()],
  base: "./",
  build: {
    outDir: "dist",
    assetsDir: ".",
    modulePreload: false,
    rollupOptions: {
      output: { entryFileNames: "app.js", chunkFileNames: "[name].js", assetFileNames: "app[extname]" },
    },
  },
});
