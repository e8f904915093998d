import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

// Built files have names that do not change: they are part of the program, which tells browsers to keep nothing.
export default defineConfig({
  plugins: [preact()],
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
