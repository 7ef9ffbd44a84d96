var __defProp = Object.defineProperty;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __esm = (fn, res) => function __init() {
  return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// scripts/render-docs.mjs
var render_docs_exports = {};
__export(render_docs_exports, {
  renderDocs: () => renderDocs
});
import { readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { Marked } from "marked";
function renderDocs(contents) {
  const groups = Object.entries(JSON.parse(readFileSync(contents, "utf8")));
  const names = groups.flatMap(([, pages]) => pages);
  const dir = dirname(contents);
  return groups.map(([title, pages]) => ({ title, pages: pages.map((name) => renderPage({ dir, name, names })) }));
}
function renderPage({ dir, name, names }) {
  const markdown = readFileSync(join(dir, `${name}.md`), "utf8");
  const [, title = name] = /^# (.*)$/m.exec(markdown) ?? [];
  const headings = [];
  const ids = /* @__PURE__ */ new Set();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: text2 }) {
        const [id, html2] = [anchorOf(text2), this.parser.parseInline(tokens)];
        ids.add(id);
        if (depth === 2) headings.push({ id, html: html2.replace(/<\/?a\b[^>]*>/g, "") });
        return `<h${depth} id="${id}">${html2}</h${depth}>
`;
      },
      link({ href, tokens }) {
        const text2 = this.parser.parseInline(tokens);
        const to = hrefOf(href, names, name === START ? "docs/" : "");
        return to === null ? text2 : `<a href="${to}">${text2}</a>`;
      },
      image({ href, text: text2 }) {
        const data = readFileSync(join(dir, href), "base64");
        return `<img src="data:image/${extname(href).slice(1)};base64,${data}" alt="${text2}" loading="lazy">`;
      },
      table({ header, rows }) {
        const inline = (cell) => this.parser.parseInline(cell.tokens);
        const body = rows.map(([first2, ...cells]) => {
          const named = cells.map((cell, i) => `<td data-name="${header[i + 1].text}">${inline(cell)}</td>`);
          return `<tr${rowId(first2, ids)}><th scope="row">${inline(first2)}</th>${named.join("")}</tr>
`;
        });
        const head = header.map((cell) => `<th scope="col">${inline(cell)}</th>`).join("");
        return `<div class="table"><table class="stacked"><thead><tr>${head}</tr></thead><tbody>
${body.join("")}</tbody></table></div>
`;
      }
    }
  });
  const text = markdown.replace(/^# .*\n/m, "");
  const html = marked.parse(text);
  const [first = ""] = /(?<=^<p>).*?(?=<\/p>$)/ms.exec(html) ?? [];
  return { name: name === START ? "" : name, title, lead: sentenceOf(first), html, headings };
}
function rowId({ tokens: [first] }, ids) {
  if (first?.type !== "codespan" || !/^[\w.-]+$/.test(first.text) || ids.has(first.text)) return "";
  ids.add(first.text);
  return ` id="${first.text}"`;
}
function sentenceOf(paragraph) {
  const text = paragraph.replace(/<\/?a\b[^>]*>/g, "");
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0].replace(/:$/, ".") ?? text;
}
function anchorOf(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}
function hrefOf(link, names, prefix) {
  if (/^(https:|#)/.test(link)) return link;
  const [, name, anchor = ""] = /^([\w-]+)\.md(#.*)?$/.exec(link) ?? [];
  if (!names.includes(name)) return null;
  return name === START ? `../docs${anchor}` : `${prefix}${name}${anchor}`;
}
var START;
var init_render_docs = __esm({
  "scripts/render-docs.mjs"() {
    "use strict";
    START = "start";
  }
});

// tsup.config.ts
import { execFileSync, spawn as spawn2 } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync as readdirSync2, readFileSync as readFileSync2, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname as dirname4, join as join3, resolve as resolve2 } from "node:path";
import { defineConfig } from "tsup";

// scripts/built-modules.mjs
import { dirname as dirname2, resolve } from "node:path";
import { build } from "esbuild";
var ASKED = /\?(bundled|rendered)$/;
function builtModulesForEsbuild() {
  return {
    name: "built-modules",
    setup(bundler) {
      bundler.onResolve({ filter: ASKED }, ({ path, importer }) => ({
        path: entryOf(path, importer),
        namespace: "built-modules"
      }));
      bundler.onLoad({ filter: /./, namespace: "built-modules" }, async ({ path }) => ({
        contents: await asModule(path),
        loader: "js"
      }));
    }
  };
}
function entryOf(path, importer) {
  return resolve(dirname2(importer), path).replace(/\.js\?bundled$/, ".ts?bundled");
}
async function asModule(asked) {
  const file = asked.replace(ASKED, "");
  if (asked.endsWith("?bundled")) return `export const source = ${JSON.stringify(await bundleForPage(file))};`;
  const { renderDocs: renderDocs2 } = await Promise.resolve().then(() => (init_render_docs(), render_docs_exports));
  return `export const groups = ${JSON.stringify(renderDocs2(file))};`;
}
async function bundleForPage(entry) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "iife",
    globalName: "stillframe",
    platform: "browser",
    target: "chrome120",
    charset: "utf8",
    legalComments: "none",
    write: false
  });
  return outputFiles[0].text;
}

// scripts/prepare.mjs
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname as dirname3, join as join2 } from "node:path";
import { fileURLToPath } from "node:url";

// scripts/run-with-progress.mjs
import { spawn } from "node:child_process";

// scripts/prepare.mjs
var __injected_import_meta_url__ = "file:///work/h/c/scripts/prepare.mjs";
var ROOT = fileURLToPath(new URL("..", __injected_import_meta_url__));
var INSTALLED = join2(ROOT, "node_modules", ".package-lock.json");
var LOCK = join2(ROOT, "package-lock.json");
var BUILT = ["dist/main.js", "dist/client/client.js"].map((name) => join2(ROOT, name));
var CLIENT_TYPES_FROM = ["src/contract", "src/http", "scripts/write-client-types.ts", "scripts/openapi.ts"];
function ensureClientTypes() {
  const file = join2(ROOT, "src/client/wire.ts");
  if (existsSync(file) && statSync(file).mtimeMs >= newest(CLIENT_TYPES_FROM)) return;
  run(process.execPath, [join2(ROOT, "scripts/run-ts.mjs"), "--no-build", join2(ROOT, "scripts/write-client-types.ts")]);
}
function newest(names) {
  return Math.max(...names.map((name) => newestIn(join2(ROOT, name))));
}
function newestIn(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestIn(join2(path, name))));
}
function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: ["ignore", 2, 2], ...options });
  if (result.error) {
    say(`${command} could not be started: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) {
    say(`\`${command} ${args.join(" ")}\` failed (${result.status ?? result.signal}). Its own words are above.`);
    process.exit(1);
  }
}
function say(line) {
  console.error(line);
}

// tsup.config.ts
var __injected_import_meta_url__2 = "file:///work/h/c/tsup.config.ts";
var require2 = createRequire(__injected_import_meta_url__2);
var COPIES = [
  [require2.resolve("swagger-ui-dist/swagger-ui.css"), "docs/swagger-ui.css"],
  [require2.resolve("swagger-ui-dist/swagger-ui-bundle.js"), "docs/swagger-ui-bundle.js"],
  [require2.resolve("swagger-ui-dist/LICENSE"), "docs/swagger-ui.LICENSE"]
];
var LIBPDF = [
  "@libpdf/core",
  ...["@noble/ciphers", "@noble/hashes", "pako"].map((name) => `@libpdf/core/node_modules/${name}`)
];
var BUNDLED = {
  // As a dependency, the SDK would bring a web server and 80 more packages.
  mcp: [
    "@modelcontextprotocol/sdk",
    "ajv",
    "ajv-formats",
    "content-type",
    "fast-deep-equal",
    "fast-uri",
    "json-schema-traverse",
    "zod-to-json-schema"
  ],
  // As dependencies, they would take 24 MB, most of it for metrics and logs; the bundle takes 150 kB.
  opentelemetry: [
    "@opentelemetry/api",
    "@opentelemetry/core",
    "@opentelemetry/exporter-trace-otlp-http",
    "@opentelemetry/exporter-trace-otlp-proto",
    "@opentelemetry/otlp-exporter-base",
    "@opentelemetry/otlp-transformer",
    "@opentelemetry/resources",
    "@opentelemetry/sdk-trace",
    "@opentelemetry/semantic-conventions"
  ],
  marked: ["marked"],
  // As a dependency, it would bring 15 MB of certificates and signatures, which are not used.
  libpdf: LIBPDF,
  // As a dependency, it is a hundred files to load, which take 0.15 s of processor time.
  zod: ["zod"]
};
var COMMONJS = ["commander", "ipaddr.js", "pino", "saxes", "sharp", "tldts"];
function requireCommonJs() {
  return {
    name: "commonjs",
    setup(build2) {
      const filter = new RegExp(`^(${COMMONJS.join("|")})$`);
      build2.onResolve({ filter }, ({ path }) => ({ path, namespace: "commonjs" }));
      build2.onLoad({ filter, namespace: "commonjs" }, ({ path }) => {
        const names = Object.keys(require2(path)).filter((name) => name !== "default");
        const load = `import { createRequire } from 'node:module';
const loaded = createRequire(import.meta.url)('${path}');`;
        return { contents: `${load}
export default loaded;
export const { ${names.join(", ")} } = loaded;` };
      });
    }
  };
}
function leaveOutSignatures() {
  return {
    name: "signatures",
    setup(build2) {
      build2.onResolve({ filter: /^(asn1js|pkijs|@google-cloud\/.+)$/ }, ({ path }) => ({
        path,
        namespace: "signatures"
      }));
      const contents = "module.exports = Object.create(new Proxy({}, { get: () => class {} }));";
      build2.onLoad({ filter: /./, namespace: "signatures" }, () => ({ contents }));
    }
  };
}
var JOINED = "new Uint8Array([...iv, ...ciphertext])";
function useNodeCiphers() {
  return {
    name: "ciphers",
    setup(build2) {
      build2.onResolve({ filter: /^@noble\/ciphers\/aes\.js$/ }, () => ({ path: resolve2("scripts/node-ciphers.mjs") }));
      build2.onLoad({ filter: /@libpdf.core.dist.index\.mjs$/ }, ({ path }) => {
        const source = readFileSync2(path, "utf8");
        if (!source.includes(JOINED)) throw new Error("@libpdf/core joins encrypted bytes in another way.");
        return { contents: source.replace(JOINED, "Buffer.concat([iv, ciphertext])") };
      });
    }
  };
}
var HEAD = `#!/usr/bin/env sh
':' //; export MALLOC_ARENA_MAX="\${MALLOC_ARENA_MAX:-2}" MALLOC_MMAP_THRESHOLD_="\${MALLOC_MMAP_THRESHOLD_:-131072}" NODE_OPTIONS="--max-semi-space-size=8 $NODE_OPTIONS"; exec node "$0" "$@"
`;
var program = ({ watch, sourcemap }) => ({
  entry: {
    main: "src/main.ts",
    stillframe: "src/library/stillframe.ts",
    "checkpoint-thread": "src/store/sqlite/checkpoint-thread.ts",
    "compare-thread": "src/compare/compare-thread.ts",
    "pdf-thread": "src/pdf/pdf-thread.ts",
    "picture-thread": "src/render/encode/picture-thread.ts",
    "markdown-form-thread": "src/http/compatible-apis/markdown-form-thread.ts",
    "json-thread": "src/http/json-thread.ts",
    "markdown-thread": "src/render/inspect/markdown-thread.ts"
  },
  format: "esm",
  target: "node20",
  platform: "node",
  outDir: "dist",
  clean: ["!client/**"],
  noExternal: COMMONJS,
  esbuildPlugins: [builtModulesForEsbuild(), requireCommonJs(), leaveOutSignatures(), useNodeCiphers()],
  async onSuccess() {
    writeFileSync("dist/main.js", readFileSync2("dist/main.js", "utf8").replace("#!/usr/bin/env node\n", HEAD));
    if (sourcemap) addLineToMap("dist/main.js.map");
    execFileSync(process.execPath, ["scripts/build-rules.mjs", "dist/block"], {
      stdio: ["ignore", "ignore", "inherit"]
    });
    execFileSync(process.execPath, ["scripts/run-ts.mjs", "--no-build", "scripts/write-openapi.ts"], {
      stdio: ["ignore", "ignore", "inherit"]
    });
    for (const [from, to] of COPIES) {
      mkdirSync(dirname4(join3("dist", to)), { recursive: true });
      copyFileSync(from, join3("dist", to));
    }
    for (const [file, packages] of Object.entries(BUNDLED)) {
      const licences = packages.map(
        (name) => `${name.split("/node_modules/").at(-1)}

${readLicence(join3("node_modules", name))}`
      );
      writeFileSync(`dist/${file}.LICENSES.txt`, licences.join("\n\n"));
    }
    if (watch) return startServer();
  }
});
function readLicence(folder) {
  const [file = "LICENSE"] = readdirSync2(folder).filter((name) => /^LICENSE(\.md)?$/.test(name));
  return readFileSync2(join3(folder, file), "utf8");
}
function addLineToMap(file) {
  const map = JSON.parse(readFileSync2(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...map, mappings: `;${map.mappings}` }));
}
function startServer() {
  const NODE_OPTIONS = `--enable-source-maps ${process.env.NODE_OPTIONS ?? ""}`.trim();
  const server = spawn2("dist/main.js", ["serve"], { stdio: "inherit", env: { ...process.env, NODE_OPTIONS } });
  return async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill();
    await once(server, "exit");
  };
}
var client = {
  entry: { client: "src/client/client.ts" },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "neutral",
  outDir: "dist/client",
  clean: true,
  splitting: false,
  sourcemap: false,
  tsconfig: "scripts/client-tsconfig.json",
  dts: true
};
ensureClientTypes();
var tsup_config_default = defineConfig((given) => given.watch ? program(given) : [program(given), client]);
export {
  tsup_config_default as default
};
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsic2NyaXB0cy9yZW5kZXItZG9jcy5tanMiLCAidHN1cC5jb25maWcudHMiLCAic2NyaXB0cy9idWlsdC1tb2R1bGVzLm1qcyIsICJzY3JpcHRzL3ByZXBhcmUubWpzIiwgInNjcmlwdHMvcnVuLXdpdGgtcHJvZ3Jlc3MubWpzIl0sCiAgInNvdXJjZXNDb250ZW50IjogWyJjb25zdCBfX2luamVjdGVkX2ZpbGVuYW1lX18gPSBcIi93b3JrL2gvYy9zY3JpcHRzL3JlbmRlci1kb2NzLm1qc1wiO2NvbnN0IF9faW5qZWN0ZWRfZGlybmFtZV9fID0gXCIvd29yay9oL2Mvc2NyaXB0c1wiO2NvbnN0IF9faW5qZWN0ZWRfaW1wb3J0X21ldGFfdXJsX18gPSBcImZpbGU6Ly8vd29yay9oL2Mvc2NyaXB0cy9yZW5kZXItZG9jcy5tanNcIjsvKiogTWFrZXMgdGhlIHBhZ2VzIHRoYXQgdGhlIHNlcnZlciBzaG93cyBhdCAvZG9jczogdGhlIE1hcmtkb3duIG9mIGRvY3MvLCBpbiB0aGUgZ3JvdXBzIG9mIGRvY3MvY29udGVudHMuanNvbi4gKi9cbmltcG9ydCB7IHJlYWRGaWxlU3luYyB9IGZyb20gJ25vZGU6ZnMnO1xuaW1wb3J0IHsgZGlybmFtZSwgZXh0bmFtZSwgam9pbiB9IGZyb20gJ25vZGU6cGF0aCc7XG5pbXBvcnQgeyBNYXJrZWQgfSBmcm9tICdtYXJrZWQnO1xuXG4vKiogVGhlIHBhZ2UgdGhhdCBpcyBzaG93biBhdCAvZG9jcyBpdHNlbGYuICovXG5jb25zdCBTVEFSVCA9ICdzdGFydCc7XG5cbi8qKlxuICogQHBhcmFtIHtzdHJpbmd9IGNvbnRlbnRzIHRoZSBwYXRoIG9mIGNvbnRlbnRzLmpzb25cbiAqIEByZXR1cm5zIHt7dGl0bGU6IHN0cmluZywgcGFnZXM6IHtuYW1lOiBzdHJpbmcsIHRpdGxlOiBzdHJpbmcsIGxlYWQ6IHN0cmluZywgaHRtbDogc3RyaW5nLCBoZWFkaW5nczoge2lkOiBzdHJpbmcsIGh0bWw6IHN0cmluZ31bXX1bXX1bXX1cbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHJlbmRlckRvY3MoY29udGVudHMpIHtcbiAgY29uc3QgZ3JvdXBzID0gT2JqZWN0LmVudHJpZXMoSlNPTi5wYXJzZShyZWFkRmlsZVN5bmMoY29udGVudHMsICd1dGY4JykpKTtcbiAgY29uc3QgbmFtZXMgPSBncm91cHMuZmxhdE1hcCgoWywgcGFnZXNdKSA9PiBwYWdlcyk7XG4gIGNvbnN0IGRpciA9IGRpcm5hbWUoY29udGVudHMpO1xuICByZXR1cm4gZ3JvdXBzLm1hcCgoW3RpdGxlLCBwYWdlc10pID0+ICh7IHRpdGxlLCBwYWdlczogcGFnZXMubWFwKChuYW1lKSA9PiByZW5kZXJQYWdlKHsgZGlyLCBuYW1lLCBuYW1lcyB9KSkgfSkpO1xufVxuXG5mdW5jdGlvbiByZW5kZXJQYWdlKHsgZGlyLCBuYW1lLCBuYW1lcyB9KSB7XG4gIGNvbnN0IG1hcmtkb3duID0gcmVhZEZpbGVTeW5jKGpvaW4oZGlyLCBgJHtuYW1lfS5tZGApLCAndXRmOCcpO1xuICBjb25zdCBbLCB0aXRsZSA9IG5hbWVdID0gL14jICguKikkL20uZXhlYyhtYXJrZG93bikgPz8gW107XG4gIGNvbnN0IGhlYWRpbmdzID0gW107XG4gIGNvbnN0IGlkcyA9IG5ldyBTZXQoKTtcbiAgY29uc3QgbWFya2VkID0gbmV3IE1hcmtlZCh7XG4gICAgcmVuZGVyZXI6IHtcbiAgICAgIGhlYWRpbmcoeyB0b2tlbnMsIGRlcHRoLCB0ZXh0IH0pIHtcbiAgICAgICAgY29uc3QgW2lkLCBodG1sXSA9IFthbmNob3JPZih0ZXh0KSwgdGhpcy5wYXJzZXIucGFyc2VJbmxpbmUodG9rZW5zKV07XG4gICAgICAgIGlkcy5hZGQoaWQpO1xuICAgICAgICBpZiAoZGVwdGggPT09IDIpIGhlYWRpbmdzLnB1c2goeyBpZCwgaHRtbDogaHRtbC5yZXBsYWNlKC88XFwvP2FcXGJbXj5dKj4vZywgJycpIH0pO1xuICAgICAgICByZXR1cm4gYDxoJHtkZXB0aH0gaWQ9XCIke2lkfVwiPiR7aHRtbH08L2gke2RlcHRofT5cXG5gO1xuICAgICAgfSxcbiAgICAgIGxpbmsoeyBocmVmLCB0b2tlbnMgfSkge1xuICAgICAgICBjb25zdCB0ZXh0ID0gdGhpcy5wYXJzZXIucGFyc2VJbmxpbmUodG9rZW5zKTtcbiAgICAgICAgY29uc3QgdG8gPSBocmVmT2YoaHJlZiwgbmFtZXMsIG5hbWUgPT09IFNUQVJUID8gJ2RvY3MvJyA6ICcnKTtcbiAgICAgICAgcmV0dXJuIHRvID09PSBudWxsID8gdGV4dCA6IGA8YSBocmVmPVwiJHt0b31cIj4ke3RleHR9PC9hPmA7XG4gICAgICB9LFxuICAgICAgaW1hZ2UoeyBocmVmLCB0ZXh0IH0pIHtcbiAgICAgICAgY29uc3QgZGF0YSA9IHJlYWRGaWxlU3luYyhqb2luKGRpciwgaHJlZiksICdiYXNlNjQnKTtcbiAgICAgICAgcmV0dXJuIGA8aW1nIHNyYz1cImRhdGE6aW1hZ2UvJHtleHRuYW1lKGhyZWYpLnNsaWNlKDEpfTtiYXNlNjQsJHtkYXRhfVwiIGFsdD1cIiR7dGV4dH1cIiBsb2FkaW5nPVwibGF6eVwiPmA7XG4gICAgICB9LFxuICAgICAgdGFibGUoeyBoZWFkZXIsIHJvd3MgfSkge1xuICAgICAgICBjb25zdCBpbmxpbmUgPSAoY2VsbCkgPT4gdGhpcy5wYXJzZXIucGFyc2VJbmxpbmUoY2VsbC50b2tlbnMpO1xuICAgICAgICBjb25zdCBib2R5ID0gcm93cy5tYXAoKFtmaXJzdCwgLi4uY2VsbHNdKSA9PiB7XG4gICAgICAgICAgY29uc3QgbmFtZWQgPSBjZWxscy5tYXAoKGNlbGwsIGkpID0+IGA8dGQgZGF0YS1uYW1lPVwiJHtoZWFkZXJbaSArIDFdLnRleHR9XCI+JHtpbmxpbmUoY2VsbCl9PC90ZD5gKTtcbiAgICAgICAgICByZXR1cm4gYDx0ciR7cm93SWQoZmlyc3QsIGlkcyl9Pjx0aCBzY29wZT1cInJvd1wiPiR7aW5saW5lKGZpcnN0KX08L3RoPiR7bmFtZWQuam9pbignJyl9PC90cj5cXG5gO1xuICAgICAgICB9KTtcbiAgICAgICAgY29uc3QgaGVhZCA9IGhlYWRlci5tYXAoKGNlbGwpID0+IGA8dGggc2NvcGU9XCJjb2xcIj4ke2lubGluZShjZWxsKX08L3RoPmApLmpvaW4oJycpO1xuICAgICAgICByZXR1cm4gYDxkaXYgY2xhc3M9XCJ0YWJsZVwiPjx0YWJsZSBjbGFzcz1cInN0YWNrZWRcIj48dGhlYWQ+PHRyPiR7aGVhZH08L3RyPjwvdGhlYWQ+PHRib2R5PlxcbiR7Ym9keS5qb2luKCcnKX08L3Rib2R5PjwvdGFibGU+PC9kaXY+XFxuYDtcbiAgICAgIH0sXG4gICAgfSxcbiAgfSk7XG4gIGNvbnN0IHRleHQgPSBtYXJrZG93bi5yZXBsYWNlKC9eIyAuKlxcbi9tLCAnJyk7XG4gIGNvbnN0IGh0bWwgPSBtYXJrZWQucGFyc2UodGV4dCk7XG4gIGNvbnN0IFtmaXJzdCA9ICcnXSA9IC8oPzw9XjxwPikuKj8oPz08XFwvcD4kKS9tcy5leGVjKGh0bWwpID8/IFtdO1xuICByZXR1cm4geyBuYW1lOiBuYW1lID09PSBTVEFSVCA/ICcnIDogbmFtZSwgdGl0bGUsIGxlYWQ6IHNlbnRlbmNlT2YoZmlyc3QpLCBodG1sLCBoZWFkaW5ncyB9O1xufVxuXG4vKiogVGhlIGFuY2hvciBvZiBhIHJvdyB0aGF0IGJlZ2lucyB3aXRoIGEgbmFtZSwgc3VjaCBhcyBhbiBvcHRpb24gb3IgYSBzZXR0aW5nLCBzbyB0aGF0IGEgc2VhcmNoIGNhbiBsZWFkIHRvIGl0LiAqL1xuZnVuY3Rpb24gcm93SWQoeyB0b2tlbnM6IFtmaXJzdF0gfSwgaWRzKSB7XG4gIGlmIChmaXJzdD8udHlwZSAhPT0gJ2NvZGVzcGFuJyB8fCAhL15bXFx3Li1dKyQvLnRlc3QoZmlyc3QudGV4dCkgfHwgaWRzLmhhcyhmaXJzdC50ZXh0KSkgcmV0dXJuICcnO1xuICBpZHMuYWRkKGZpcnN0LnRleHQpO1xuICByZXR1cm4gYCBpZD1cIiR7Zmlyc3QudGV4dH1cImA7XG59XG5cbi8qKiBUaGUgZmlyc3Qgc2VudGVuY2UsIHdpdGhvdXQgaXRzIGxpbmtzLiAqL1xuZnVuY3Rpb24gc2VudGVuY2VPZihwYXJhZ3JhcGgpIHtcbiAgY29uc3QgdGV4dCA9IHBhcmFncmFwaC5yZXBsYWNlKC88XFwvP2FcXGJbXj5dKj4vZywgJycpO1xuICByZXR1cm4gL14uKj9bLjpdKD89XFxzfCQpL3MuZXhlYyh0ZXh0KT8uWzBdLnJlcGxhY2UoLzokLywgJy4nKSA/PyB0ZXh0O1xufVxuXG4vKiogQXMgR2l0SHViIG1ha2VzIHRoZW0uICovXG5mdW5jdGlvbiBhbmNob3JPZihoZWFkaW5nKSB7XG4gIHJldHVybiBoZWFkaW5nXG4gICAgLnRvTG93ZXJDYXNlKClcbiAgICAucmVwbGFjZSgvW15cXHB7TH1cXHB7Tn0gXy1dL2d1LCAnJylcbiAgICAucmVwbGFjZUFsbCgnICcsICctJyk7XG59XG5cbi8qKiBudWxsIGZvciBhIGZpbGUgb2YgdGhlIHJlcG9zaXRvcnksIHdoaWNoIHRoZSBzZXJ2ZXIgZG9lcyBub3QgaGF2ZS4gKi9cbmZ1bmN0aW9uIGhyZWZPZihsaW5rLCBuYW1lcywgcHJlZml4KSB7XG4gIGlmICgvXihodHRwczp8IykvLnRlc3QobGluaykpIHJldHVybiBsaW5rO1xuICBjb25zdCBbLCBuYW1lLCBhbmNob3IgPSAnJ10gPSAvXihbXFx3LV0rKVxcLm1kKCMuKik/JC8uZXhlYyhsaW5rKSA/PyBbXTtcbiAgaWYgKCFuYW1lcy5pbmNsdWRlcyhuYW1lKSkgcmV0dXJuIG51bGw7XG4gIHJldHVybiBuYW1lID09PSBTVEFSVCA/IGAuLi9kb2NzJHthbmNob3J9YCA6IGAke3ByZWZpeH0ke25hbWV9JHthbmNob3J9YDtcbn1cbiIsICJjb25zdCBfX2luamVjdGVkX2ZpbGVuYW1lX18gPSBcIi93b3JrL2gvYy90c3VwLmNvbmZpZy50c1wiO2NvbnN0IF9faW5qZWN0ZWRfZGlybmFtZV9fID0gXCIvd29yay9oL2NcIjtjb25zdCBfX2luamVjdGVkX2ltcG9ydF9tZXRhX3VybF9fID0gXCJmaWxlOi8vL3dvcmsvaC9jL3RzdXAuY29uZmlnLnRzXCI7aW1wb3J0IHsgZXhlY0ZpbGVTeW5jLCBzcGF3biB9IGZyb20gJ25vZGU6Y2hpbGRfcHJvY2Vzcyc7XG5pbXBvcnQgeyBvbmNlIH0gZnJvbSAnbm9kZTpldmVudHMnO1xuaW1wb3J0IHsgY29weUZpbGVTeW5jLCBta2RpclN5bmMsIHJlYWRkaXJTeW5jLCByZWFkRmlsZVN5bmMsIHdyaXRlRmlsZVN5bmMgfSBmcm9tICdub2RlOmZzJztcbmltcG9ydCB7IGNyZWF0ZVJlcXVpcmUgfSBmcm9tICdub2RlOm1vZHVsZSc7XG5pbXBvcnQgeyBkaXJuYW1lLCBqb2luLCByZXNvbHZlIH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB0eXBlIHsgUGx1Z2luIH0gZnJvbSAnZXNidWlsZCc7XG5pbXBvcnQgeyBkZWZpbmVDb25maWcsIHR5cGUgT3B0aW9ucyB9IGZyb20gJ3RzdXAnO1xuaW1wb3J0IHsgYnVpbHRNb2R1bGVzRm9yRXNidWlsZCB9IGZyb20gJy4vc2NyaXB0cy9idWlsdC1tb2R1bGVzLm1qcyc7XG5pbXBvcnQgeyBlbnN1cmVDbGllbnRUeXBlcyB9IGZyb20gJy4vc2NyaXB0cy9wcmVwYXJlLm1qcyc7XG5cbmNvbnN0IHJlcXVpcmUgPSBjcmVhdGVSZXF1aXJlKGltcG9ydC5tZXRhLnVybCk7XG5cbi8qKiBGaWxlcyBvZiBkZXZlbG9wbWVudCBwYWNrYWdlcyB0aGF0IHNoaXAgYmVzaWRlIHRoZSBidW5kbGUsIHNvIHRoYXQgdXNlcnMgbmVlZCBub3QgaW5zdGFsbCB0aG9zZSBwYWNrYWdlcy4gKi9cbmNvbnN0IENPUElFUzogW2Zyb206IHN0cmluZywgdG86IHN0cmluZ11bXSA9IFtcbiAgW3JlcXVpcmUucmVzb2x2ZSgnc3dhZ2dlci11aS1kaXN0L3N3YWdnZXItdWkuY3NzJyksICdkb2NzL3N3YWdnZXItdWkuY3NzJ10sXG4gIFtyZXF1aXJlLnJlc29sdmUoJ3N3YWdnZXItdWktZGlzdC9zd2FnZ2VyLXVpLWJ1bmRsZS5qcycpLCAnZG9jcy9zd2FnZ2VyLXVpLWJ1bmRsZS5qcyddLFxuICBbcmVxdWlyZS5yZXNvbHZlKCdzd2FnZ2VyLXVpLWRpc3QvTElDRU5TRScpLCAnZG9jcy9zd2FnZ2VyLXVpLkxJQ0VOU0UnXSxcbl07XG5cbmNvbnN0IExJQlBERiA9IFtcbiAgJ0BsaWJwZGYvY29yZScsXG4gIC4uLlsnQG5vYmxlL2NpcGhlcnMnLCAnQG5vYmxlL2hhc2hlcycsICdwYWtvJ10ubWFwKChuYW1lKSA9PiBgQGxpYnBkZi9jb3JlL25vZGVfbW9kdWxlcy8ke25hbWV9YCksXG5dO1xuXG4vKiogUGFja2FnZXMgb2Ygd2hpY2ggcGFydHMgYXJlIGJ1bmRsZWQsIGJ5IHRoZSBmaWxlIG9mIHRoZWlyIGxpY2VuY2VzLiAqL1xuY29uc3QgQlVORExFRDogUmVjb3JkPHN0cmluZywgc3RyaW5nW10+ID0ge1xuICAvLyBBcyBhIGRlcGVuZGVuY3ksIHRoZSBTREsgd291bGQgYnJpbmcgYSB3ZWIgc2VydmVyIGFuZCA4MCBtb3JlIHBhY2thZ2VzLlxuICBtY3A6IFtcbiAgICAnQG1vZGVsY29udGV4dHByb3RvY29sL3NkaycsXG4gICAgJ2FqdicsXG4gICAgJ2Fqdi1mb3JtYXRzJyxcbiAgICAnY29udGVudC10eXBlJyxcbiAgICAnZmFzdC1kZWVwLWVxdWFsJyxcbiAgICAnZmFzdC11cmknLFxuICAgICdqc29uLXNjaGVtYS10cmF2ZXJzZScsXG4gICAgJ3pvZC10by1qc29uLXNjaGVtYScsXG4gIF0sXG4gIC8vIEFzIGRlcGVuZGVuY2llcywgdGhleSB3b3VsZCB0YWtlIDI0IE1CLCBtb3N0IG9mIGl0IGZvciBtZXRyaWNzIGFuZCBsb2dzOyB0aGUgYnVuZGxlIHRha2VzIDE1MCBrQi5cbiAgb3BlbnRlbGVtZXRyeTogW1xuICAgICdAb3BlbnRlbGVtZXRyeS9hcGknLFxuICAgICdAb3BlbnRlbGVtZXRyeS9jb3JlJyxcbiAgICAnQG9wZW50ZWxlbWV0cnkvZXhwb3J0ZXItdHJhY2Utb3RscC1odHRwJyxcbiAgICAnQG9wZW50ZWxlbWV0cnkvZXhwb3J0ZXItdHJhY2Utb3RscC1wcm90bycsXG4gICAgJ0BvcGVudGVsZW1ldHJ5L290bHAtZXhwb3J0ZXItYmFzZScsXG4gICAgJ0BvcGVudGVsZW1ldHJ5L290bHAtdHJhbnNmb3JtZXInLFxuICAgICdAb3BlbnRlbGVtZXRyeS9yZXNvdXJjZXMnLFxuICAgICdAb3BlbnRlbGVtZXRyeS9zZGstdHJhY2UnLFxuICAgICdAb3BlbnRlbGVtZXRyeS9zZW1hbnRpYy1jb252ZW50aW9ucycsXG4gIF0sXG4gIG1hcmtlZDogWydtYXJrZWQnXSxcbiAgLy8gQXMgYSBkZXBlbmRlbmN5LCBpdCB3b3VsZCBicmluZyAxNSBNQiBvZiBjZXJ0aWZpY2F0ZXMgYW5kIHNpZ25hdHVyZXMsIHdoaWNoIGFyZSBub3QgdXNlZC5cbiAgbGlicGRmOiBMSUJQREYsXG4gIC8vIEFzIGEgZGVwZW5kZW5jeSwgaXQgaXMgYSBodW5kcmVkIGZpbGVzIHRvIGxvYWQsIHdoaWNoIHRha2UgMC4xNSBzIG9mIHByb2Nlc3NvciB0aW1lLlxuICB6b2Q6IFsnem9kJ10sXG59O1xuXG4vKiogQ29tbW9uSlMgcGFja2FnZXMgdGhhdCBldmVyeSBjYXB0dXJlIGxvYWRzLiBCeSBgaW1wb3J0YCwgTm9kZSB3b3VsZCBzY2FuIGVhY2ggZm9yIGl0cyBleHBvcnRzIGZpcnN0LiAqL1xuY29uc3QgQ09NTU9OSlMgPSBbJ2NvbW1hbmRlcicsICdpcGFkZHIuanMnLCAncGlubycsICdzYXhlcycsICdzaGFycCcsICd0bGR0cyddO1xuXG4vKiogTG9hZHMgdGhlbSBieSBgcmVxdWlyZWAuICovXG5mdW5jdGlvbiByZXF1aXJlQ29tbW9uSnMoKTogUGx1Z2luIHtcbiAgcmV0dXJuIHtcbiAgICBuYW1lOiAnY29tbW9uanMnLFxuICAgIHNldHVwKGJ1aWxkKSB7XG4gICAgICBjb25zdCBmaWx0ZXIgPSBuZXcgUmVnRXhwKGBeKCR7Q09NTU9OSlMuam9pbignfCcpfSkkYCk7XG4gICAgICBidWlsZC5vblJlc29sdmUoeyBmaWx0ZXIgfSwgKHsgcGF0aCB9KSA9PiAoeyBwYXRoLCBuYW1lc3BhY2U6ICdjb21tb25qcycgfSkpO1xuICAgICAgYnVpbGQub25Mb2FkKHsgZmlsdGVyLCBuYW1lc3BhY2U6ICdjb21tb25qcycgfSwgKHsgcGF0aCB9KSA9PiB7XG4gICAgICAgIGNvbnN0IG5hbWVzID0gT2JqZWN0LmtleXMocmVxdWlyZShwYXRoKSkuZmlsdGVyKChuYW1lKSA9PiBuYW1lICE9PSAnZGVmYXVsdCcpO1xuICAgICAgICBjb25zdCBsb2FkID0gYGltcG9ydCB7IGNyZWF0ZVJlcXVpcmUgfSBmcm9tICdub2RlOm1vZHVsZSc7XFxuY29uc3QgbG9hZGVkID0gY3JlYXRlUmVxdWlyZShpbXBvcnQubWV0YS51cmwpKCcke3BhdGh9Jyk7YDtcbiAgICAgICAgcmV0dXJuIHsgY29udGVudHM6IGAke2xvYWR9XFxuZXhwb3J0IGRlZmF1bHQgbG9hZGVkO1xcbmV4cG9ydCBjb25zdCB7ICR7bmFtZXMuam9pbignLCAnKX0gfSA9IGxvYWRlZDtgIH07XG4gICAgICB9KTtcbiAgICB9LFxuICB9O1xufVxuXG4vKiogTGVhdmVzIG91dCB3aGF0IEBsaWJwZGYvY29yZSBzaWducyBQREZzIHdpdGguIEl0IG1ha2VzIHN1YmNsYXNzZXMgb2YgdGhlaXJzIHdoZW4gaXQgaXMgbG9hZGVkLiAqL1xuZnVuY3Rpb24gbGVhdmVPdXRTaWduYXR1cmVzKCk6IFBsdWdpbiB7XG4gIHJldHVybiB7XG4gICAgbmFtZTogJ3NpZ25hdHVyZXMnLFxuICAgIHNldHVwKGJ1aWxkKSB7XG4gICAgICBidWlsZC5vblJlc29sdmUoeyBmaWx0ZXI6IC9eKGFzbjFqc3xwa2lqc3xAZ29vZ2xlLWNsb3VkXFwvLispJC8gfSwgKHsgcGF0aCB9KSA9PiAoe1xuICAgICAgICBwYXRoLFxuICAgICAgICBuYW1lc3BhY2U6ICdzaWduYXR1cmVzJyxcbiAgICAgIH0pKTtcbiAgICAgIGNvbnN0IGNvbnRlbnRzID0gJ21vZHVsZS5leHBvcnRzID0gT2JqZWN0LmNyZWF0ZShuZXcgUHJveHkoe30sIHsgZ2V0OiAoKSA9PiBjbGFzcyB7fSB9KSk7JztcbiAgICAgIGJ1aWxkLm9uTG9hZCh7IGZpbHRlcjogLy4vLCBuYW1lc3BhY2U6ICdzaWduYXR1cmVzJyB9LCAoKSA9PiAoeyBjb250ZW50cyB9KSk7XG4gICAgfSxcbiAgfTtcbn1cblxuLyoqIFRoZSBsaW5lIG9mIEBsaWJwZGYvY29yZSAwLjQuMiB0aGF0IGpvaW5zIGVuY3J5cHRlZCBieXRlcyBieSBhIGxpc3Qgb2YgbnVtYmVycywgd2hpY2ggdGFrZXMgMjAgdGltZXMgdGhlaXIgbWVtb3J5LiAqL1xuY29uc3QgSk9JTkVEID0gJ25ldyBVaW50OEFycmF5KFsuLi5pdiwgLi4uY2lwaGVydGV4dF0pJztcblxuLyoqIEVuY3J5cHRzIFBERnMgYnkgTm9kZSdzIGNpcGhlcnMuICovXG5mdW5jdGlvbiB1c2VOb2RlQ2lwaGVycygpOiBQbHVnaW4ge1xuICByZXR1cm4ge1xuICAgIG5hbWU6ICdjaXBoZXJzJyxcbiAgICBzZXR1cChidWlsZCkge1xuICAgICAgYnVpbGQub25SZXNvbHZlKHsgZmlsdGVyOiAvXkBub2JsZVxcL2NpcGhlcnNcXC9hZXNcXC5qcyQvIH0sICgpID0+ICh7IHBhdGg6IHJlc29sdmUoJ3NjcmlwdHMvbm9kZS1jaXBoZXJzLm1qcycpIH0pKTtcbiAgICAgIGJ1aWxkLm9uTG9hZCh7IGZpbHRlcjogL0BsaWJwZGYuY29yZS5kaXN0LmluZGV4XFwubWpzJC8gfSwgKHsgcGF0aCB9KSA9PiB7XG4gICAgICAgIGNvbnN0IHNvdXJjZSA9IHJlYWRGaWxlU3luYyhwYXRoLCAndXRmOCcpO1xuICAgICAgICBpZiAoIXNvdXJjZS5pbmNsdWRlcyhKT0lORUQpKSB0aHJvdyBuZXcgRXJyb3IoJ0BsaWJwZGYvY29yZSBqb2lucyBlbmNyeXB0ZWQgYnl0ZXMgaW4gYW5vdGhlciB3YXkuJyk7XG4gICAgICAgIHJldHVybiB7IGNvbnRlbnRzOiBzb3VyY2UucmVwbGFjZShKT0lORUQsICdCdWZmZXIuY29uY2F0KFtpdiwgY2lwaGVydGV4dF0pJykgfTtcbiAgICAgIH0pO1xuICAgIH0sXG4gIH07XG59XG5cbi8qKlxuICogVGhlIHByb2dyYW0ncyBmaXJzdCBsaW5lcywgZm9yIGEgc2hlbGwgYW5kIGZvciBOb2RlIGFsaWtlOiBydW4gYXMgYSBjb21tYW5kIGl0IHNldHMgd2hhdCBzcmMvY2xpL2FwcGx5LW1lbW9yeS1zZXR0aW5ncy50cyB3b3VsZCwgdW5sZXNzXG4gKiB0aGUgb3BlcmF0b3IgaGFzIHNldCBpdCwgYW5kIGJlY29tZXMgTm9kZS4gYGVudiAtU2Agd291bGQgZG8gaXQgaW4gb25lIGxpbmUsIHdoaWNoIEJ1c3lCb3ggZG9lcyBub3Qga25vdy5cbiAqL1xuY29uc3QgSEVBRCA9IGAjIS91c3IvYmluL2VudiBzaFxuJzonIC8vOyBleHBvcnQgTUFMTE9DX0FSRU5BX01BWD1cIlxcJHtNQUxMT0NfQVJFTkFfTUFYOi0yfVwiIE1BTExPQ19NTUFQX1RIUkVTSE9MRF89XCJcXCR7TUFMTE9DX01NQVBfVEhSRVNIT0xEXzotMTMxMDcyfVwiIE5PREVfT1BUSU9OUz1cIi0tbWF4LXNlbWktc3BhY2Utc2l6ZT04ICROT0RFX09QVElPTlNcIjsgZXhlYyBub2RlIFwiJDBcIiBcIiRAXCJcbmA7XG5cbi8qKiBUaGUgb3B0aW9ucyBvZiBgbnBtIHJ1biBkZXZgLCB3aGljaCBidWlsZHMgYWdhaW4gd2hlbiBhIHNvdXJjZSBjaGFuZ2VzOiBgdHN1cCAtLXdhdGNoIHNyYyAtLXNvdXJjZW1hcGAuICovXG5pbnRlcmZhY2UgR2l2ZW4ge1xuICB3YXRjaD86IHVua25vd247XG4gIHNvdXJjZW1hcD86IHVua25vd247XG59XG5cbmNvbnN0IHByb2dyYW0gPSAoeyB3YXRjaCwgc291cmNlbWFwIH06IEdpdmVuKTogT3B0aW9ucyA9PiAoe1xuICBlbnRyeToge1xuICAgIG1haW46ICdzcmMvbWFpbi50cycsXG4gICAgc3RpbGxmcmFtZTogJ3NyYy9saWJyYXJ5L3N0aWxsZnJhbWUudHMnLFxuICAgICdjaGVja3BvaW50LXRocmVhZCc6ICdzcmMvc3RvcmUvc3FsaXRlL2NoZWNrcG9pbnQtdGhyZWFkLnRzJyxcbiAgICAnY29tcGFyZS10aHJlYWQnOiAnc3JjL2NvbXBhcmUvY29tcGFyZS10aHJlYWQudHMnLFxuICAgICdwZGYtdGhyZWFkJzogJ3NyYy9wZGYvcGRmLXRocmVhZC50cycsXG4gICAgJ3BpY3R1cmUtdGhyZWFkJzogJ3NyYy9yZW5kZXIvZW5jb2RlL3BpY3R1cmUtdGhyZWFkLnRzJyxcbiAgICAnbWFya2Rvd24tZm9ybS10aHJlYWQnOiAnc3JjL2h0dHAvY29tcGF0aWJsZS1hcGlzL21hcmtkb3duLWZvcm0tdGhyZWFkLnRzJyxcbiAgICAnanNvbi10aHJlYWQnOiAnc3JjL2h0dHAvanNvbi10aHJlYWQudHMnLFxuICAgICdtYXJrZG93bi10aHJlYWQnOiAnc3JjL3JlbmRlci9pbnNwZWN0L21hcmtkb3duLXRocmVhZC50cycsXG4gIH0sXG4gIGZvcm1hdDogJ2VzbScsXG4gIHRhcmdldDogJ25vZGUyMCcsXG4gIHBsYXRmb3JtOiAnbm9kZScsXG4gIG91dERpcjogJ2Rpc3QnLFxuICBjbGVhbjogWychY2xpZW50LyoqJ10sXG4gIG5vRXh0ZXJuYWw6IENPTU1PTkpTLFxuICBlc2J1aWxkUGx1Z2luczogW2J1aWx0TW9kdWxlc0ZvckVzYnVpbGQoKSwgcmVxdWlyZUNvbW1vbkpzKCksIGxlYXZlT3V0U2lnbmF0dXJlcygpLCB1c2VOb2RlQ2lwaGVycygpXSxcbiAgYXN5bmMgb25TdWNjZXNzKCkge1xuICAgIHdyaXRlRmlsZVN5bmMoJ2Rpc3QvbWFpbi5qcycsIHJlYWRGaWxlU3luYygnZGlzdC9tYWluLmpzJywgJ3V0ZjgnKS5yZXBsYWNlKCcjIS91c3IvYmluL2VudiBub2RlXFxuJywgSEVBRCkpO1xuICAgIGlmIChzb3VyY2VtYXApIGFkZExpbmVUb01hcCgnZGlzdC9tYWluLmpzLm1hcCcpO1xuICAgIGV4ZWNGaWxlU3luYyhwcm9jZXNzLmV4ZWNQYXRoLCBbJ3NjcmlwdHMvYnVpbGQtcnVsZXMubWpzJywgJ2Rpc3QvYmxvY2snXSwge1xuICAgICAgc3RkaW86IFsnaWdub3JlJywgJ2lnbm9yZScsICdpbmhlcml0J10sXG4gICAgfSk7XG4gICAgZXhlY0ZpbGVTeW5jKHByb2Nlc3MuZXhlY1BhdGgsIFsnc2NyaXB0cy9ydW4tdHMubWpzJywgJy0tbm8tYnVpbGQnLCAnc2NyaXB0cy93cml0ZS1vcGVuYXBpLnRzJ10sIHtcbiAgICAgIHN0ZGlvOiBbJ2lnbm9yZScsICdpZ25vcmUnLCAnaW5oZXJpdCddLFxuICAgIH0pO1xuICAgIGZvciAoY29uc3QgW2Zyb20sIHRvXSBvZiBDT1BJRVMpIHtcbiAgICAgIG1rZGlyU3luYyhkaXJuYW1lKGpvaW4oJ2Rpc3QnLCB0bykpLCB7IHJlY3Vyc2l2ZTogdHJ1ZSB9KTtcbiAgICAgIGNvcHlGaWxlU3luYyhmcm9tLCBqb2luKCdkaXN0JywgdG8pKTtcbiAgICB9XG4gICAgZm9yIChjb25zdCBbZmlsZSwgcGFja2FnZXNdIG9mIE9iamVjdC5lbnRyaWVzKEJVTkRMRUQpKSB7XG4gICAgICBjb25zdCBsaWNlbmNlcyA9IHBhY2thZ2VzLm1hcChcbiAgICAgICAgKG5hbWUpID0+IGAke25hbWUuc3BsaXQoJy9ub2RlX21vZHVsZXMvJykuYXQoLTEpfVxcblxcbiR7cmVhZExpY2VuY2Uoam9pbignbm9kZV9tb2R1bGVzJywgbmFtZSkpfWAsXG4gICAgICApO1xuICAgICAgd3JpdGVGaWxlU3luYyhgZGlzdC8ke2ZpbGV9LkxJQ0VOU0VTLnR4dGAsIGxpY2VuY2VzLmpvaW4oJ1xcblxcbicpKTtcbiAgICB9XG4gICAgaWYgKHdhdGNoKSByZXR1cm4gc3RhcnRTZXJ2ZXIoKTtcbiAgfSxcbn0pO1xuXG5mdW5jdGlvbiByZWFkTGljZW5jZShmb2xkZXI6IHN0cmluZyk6IHN0cmluZyB7XG4gIGNvbnN0IFtmaWxlID0gJ0xJQ0VOU0UnXSA9IHJlYWRkaXJTeW5jKGZvbGRlcikuZmlsdGVyKChuYW1lKSA9PiAvXkxJQ0VOU0UoXFwubWQpPyQvLnRlc3QobmFtZSkpO1xuICByZXR1cm4gcmVhZEZpbGVTeW5jKGpvaW4oZm9sZGVyLCBmaWxlKSwgJ3V0ZjgnKTtcbn1cblxuLyoqIEhFQUQgaXMgb25lIGxpbmUgbG9uZ2VyIHRoYW4gd2hhdCBpdCByZXBsYWNlcy4gKi9cbmZ1bmN0aW9uIGFkZExpbmVUb01hcChmaWxlOiBzdHJpbmcpOiB2b2lkIHtcbiAgY29uc3QgbWFwID0gSlNPTi5wYXJzZShyZWFkRmlsZVN5bmMoZmlsZSwgJ3V0ZjgnKSkgYXMgeyBtYXBwaW5nczogc3RyaW5nIH07XG4gIHdyaXRlRmlsZVN5bmMoZmlsZSwgSlNPTi5zdHJpbmdpZnkoeyAuLi5tYXAsIG1hcHBpbmdzOiBgOyR7bWFwLm1hcHBpbmdzfWAgfSkpO1xufVxuXG4vKiogQHJldHVybnMgd2hhdCBlbmRzIHRoZSBzZXJ2ZXIgYmVmb3JlIHRoZSBuZXh0IGJ1aWxkICovXG5mdW5jdGlvbiBzdGFydFNlcnZlcigpOiAoKSA9PiBQcm9taXNlPHZvaWQ+IHtcbiAgY29uc3QgTk9ERV9PUFRJT05TID0gYC0tZW5hYmxlLXNvdXJjZS1tYXBzICR7cHJvY2Vzcy5lbnYuTk9ERV9PUFRJT05TID8/ICcnfWAudHJpbSgpO1xuICBjb25zdCBzZXJ2ZXIgPSBzcGF3bignZGlzdC9tYWluLmpzJywgWydzZXJ2ZSddLCB7IHN0ZGlvOiAnaW5oZXJpdCcsIGVudjogeyAuLi5wcm9jZXNzLmVudiwgTk9ERV9PUFRJT05TIH0gfSk7XG4gIHJldHVybiBhc3luYyAoKSA9PiB7XG4gICAgaWYgKHNlcnZlci5leGl0Q29kZSAhPT0gbnVsbCB8fCBzZXJ2ZXIuc2lnbmFsQ29kZSAhPT0gbnVsbCkgcmV0dXJuO1xuICAgIHNlcnZlci5raWxsKCk7XG4gICAgYXdhaXQgb25jZShzZXJ2ZXIsICdleGl0Jyk7XG4gIH07XG59XG5cbi8qKiBgc3RpbGxmcmFtZS9jbGllbnRgOiBvbmUgZmlsZSBmb3IgZWFjaCBtb2R1bGUgc3lzdGVtLCB3aXRob3V0IGFueXRoaW5nIG9mIHRoZSBwcm9ncmFtLCBhbmQgZGVjbGFyYXRpb25zIHRoYXQgbmVlZCBubyBvdGhlciBwYWNrYWdlLiAqL1xuY29uc3QgY2xpZW50OiBPcHRpb25zID0ge1xuICBlbnRyeTogeyBjbGllbnQ6ICdzcmMvY2xpZW50L2NsaWVudC50cycgfSxcbiAgZm9ybWF0OiBbJ2VzbScsICdjanMnXSxcbiAgdGFyZ2V0OiAnZXMyMDIyJyxcbiAgcGxhdGZvcm06ICduZXV0cmFsJyxcbiAgb3V0RGlyOiAnZGlzdC9jbGllbnQnLFxuICBjbGVhbjogdHJ1ZSxcbiAgc3BsaXR0aW5nOiBmYWxzZSxcbiAgc291cmNlbWFwOiBmYWxzZSxcbiAgdHNjb25maWc6ICdzY3JpcHRzL2NsaWVudC10c2NvbmZpZy5qc29uJyxcbiAgZHRzOiB0cnVlLFxufTtcblxuZW5zdXJlQ2xpZW50VHlwZXMoKTtcbmV4cG9ydCBkZWZhdWx0IGRlZmluZUNvbmZpZygoZ2l2ZW4pID0+IChnaXZlbi53YXRjaCA/IHByb2dyYW0oZ2l2ZW4pIDogW3Byb2dyYW0oZ2l2ZW4pLCBjbGllbnRdKSk7XG4iLCAiY29uc3QgX19pbmplY3RlZF9maWxlbmFtZV9fID0gXCIvd29yay9oL2Mvc2NyaXB0cy9idWlsdC1tb2R1bGVzLm1qc1wiO2NvbnN0IF9faW5qZWN0ZWRfZGlybmFtZV9fID0gXCIvd29yay9oL2Mvc2NyaXB0c1wiO2NvbnN0IF9faW5qZWN0ZWRfaW1wb3J0X21ldGFfdXJsX18gPSBcImZpbGU6Ly8vd29yay9oL2Mvc2NyaXB0cy9idWlsdC1tb2R1bGVzLm1qc1wiOy8qKlxuICogTW9kdWxlcyB0aGF0IGFyZSBtYWRlIHdoZW4gdGhleSBhcmUgaW1wb3J0ZWQ6XG4gKiAgIGBpbXBvcnQgeyBzb3VyY2UgfSBmcm9tICcuL3Byb2dyYW0uanM/YnVuZGxlZCdgICAgICAgIHdoYXQgcnVucyBpbnNpZGUgcGFnZXMsIGFzIG9uZSBzY3JpcHRcbiAqICAgYGltcG9ydCB7IGdyb3VwcyB9IGZyb20gJ2RvY3MvY29udGVudHMuanNvbj9yZW5kZXJlZCdgIHRoZSBkb2N1bWVudGF0aW9uLCBhcyBIVE1MXG4gKi9cbmltcG9ydCB7IGRpcm5hbWUsIHJlc29sdmUgfSBmcm9tICdub2RlOnBhdGgnO1xuaW1wb3J0IHsgYnVpbGQgfSBmcm9tICdlc2J1aWxkJztcblxuY29uc3QgQVNLRUQgPSAvXFw/KGJ1bmRsZWR8cmVuZGVyZWQpJC87XG5cbi8qKiBGb3IgZXNidWlsZCwgYW5kIHNvIGZvciB0c3VwLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGJ1aWx0TW9kdWxlc0ZvckVzYnVpbGQoKSB7XG4gIHJldHVybiB7XG4gICAgbmFtZTogJ2J1aWx0LW1vZHVsZXMnLFxuICAgIHNldHVwKGJ1bmRsZXIpIHtcbiAgICAgIGJ1bmRsZXIub25SZXNvbHZlKHsgZmlsdGVyOiBBU0tFRCB9LCAoeyBwYXRoLCBpbXBvcnRlciB9KSA9PiAoe1xuICAgICAgICBwYXRoOiBlbnRyeU9mKHBhdGgsIGltcG9ydGVyKSxcbiAgICAgICAgbmFtZXNwYWNlOiAnYnVpbHQtbW9kdWxlcycsXG4gICAgICB9KSk7XG4gICAgICBidW5kbGVyLm9uTG9hZCh7IGZpbHRlcjogLy4vLCBuYW1lc3BhY2U6ICdidWlsdC1tb2R1bGVzJyB9LCBhc3luYyAoeyBwYXRoIH0pID0+ICh7XG4gICAgICAgIGNvbnRlbnRzOiBhd2FpdCBhc01vZHVsZShwYXRoKSxcbiAgICAgICAgbG9hZGVyOiAnanMnLFxuICAgICAgfSkpO1xuICAgIH0sXG4gIH07XG59XG5cbi8qKiBGb3IgVml0ZSwgYW5kIHNvIGZvciBWaXRlc3QuIEl0cyBuYW1lcyBtdXN0IG5vdCBsb29rIGxpa2UgdGhvc2Ugb2YgSlNPTiBmaWxlcy4gKi9cbmV4cG9ydCBmdW5jdGlvbiBidWlsdE1vZHVsZXNGb3JWaXRlKCkge1xuICBjb25zdCBOQU1FID0gL15cXDAoLiopXFwuKGJ1bmRsZWR8cmVuZGVyZWQpXFwuanMkLztcbiAgcmV0dXJuIHtcbiAgICBuYW1lOiAnYnVpbHQtbW9kdWxlcycsXG4gICAgZW5mb3JjZTogJ3ByZScsXG4gICAgcmVzb2x2ZUlkOiAoaWQsIGltcG9ydGVyKSA9PiAoQVNLRUQudGVzdChpZCkgPyBgXFwwJHtlbnRyeU9mKGlkLCBpbXBvcnRlcikucmVwbGFjZShBU0tFRCwgJy4kMS5qcycpfWAgOiBudWxsKSxcbiAgICBsb2FkOiAoaWQpID0+IChOQU1FLnRlc3QoaWQpID8gYXNNb2R1bGUoaWQucmVwbGFjZShOQU1FLCAnJDE/JDInKSkgOiBudWxsKSxcbiAgfTtcbn1cblxuLyoqIFRoZSBhYnNvbHV0ZSBwYXRoLCB3aXRoIHdoYXQgd2FzIGFza2VkIGZvci4gKi9cbmZ1bmN0aW9uIGVudHJ5T2YocGF0aCwgaW1wb3J0ZXIpIHtcbiAgcmV0dXJuIHJlc29sdmUoZGlybmFtZShpbXBvcnRlciksIHBhdGgpLnJlcGxhY2UoL1xcLmpzXFw/YnVuZGxlZCQvLCAnLnRzP2J1bmRsZWQnKTtcbn1cblxuYXN5bmMgZnVuY3Rpb24gYXNNb2R1bGUoYXNrZWQpIHtcbiAgY29uc3QgZmlsZSA9IGFza2VkLnJlcGxhY2UoQVNLRUQsICcnKTtcbiAgaWYgKGFza2VkLmVuZHNXaXRoKCc/YnVuZGxlZCcpKSByZXR1cm4gYGV4cG9ydCBjb25zdCBzb3VyY2UgPSAke0pTT04uc3RyaW5naWZ5KGF3YWl0IGJ1bmRsZUZvclBhZ2UoZmlsZSkpfTtgO1xuICBjb25zdCB7IHJlbmRlckRvY3MgfSA9IGF3YWl0IGltcG9ydCgnLi9yZW5kZXItZG9jcy5tanMnKTtcbiAgcmV0dXJuIGBleHBvcnQgY29uc3QgZ3JvdXBzID0gJHtKU09OLnN0cmluZ2lmeShyZW5kZXJEb2NzKGZpbGUpKX07YDtcbn1cblxuLyoqIEByZXR1cm5zIG9uZSBzY3JpcHQgdGhhdCBzZXRzIGBzdGlsbGZyYW1lYCB0byB0aGUgZXhwb3J0cyBvZiB0aGUgZW50cnkgKi9cbmV4cG9ydCBhc3luYyBmdW5jdGlvbiBidW5kbGVGb3JQYWdlKGVudHJ5KSB7XG4gIGNvbnN0IHsgb3V0cHV0RmlsZXMgfSA9IGF3YWl0IGJ1aWxkKHtcbiAgICBlbnRyeVBvaW50czogW2VudHJ5XSxcbiAgICBidW5kbGU6IHRydWUsXG4gICAgbWluaWZ5OiB0cnVlLFxuICAgIGZvcm1hdDogJ2lpZmUnLFxuICAgIGdsb2JhbE5hbWU6ICdzdGlsbGZyYW1lJyxcbiAgICBwbGF0Zm9ybTogJ2Jyb3dzZXInLFxuICAgIHRhcmdldDogJ2Nocm9tZTEyMCcsXG4gICAgY2hhcnNldDogJ3V0ZjgnLFxuICAgIGxlZ2FsQ29tbWVudHM6ICdub25lJyxcbiAgICB3cml0ZTogZmFsc2UsXG4gIH0pO1xuICByZXR1cm4gb3V0cHV0RmlsZXNbMF0udGV4dDtcbn1cbiIsICJjb25zdCBfX2luamVjdGVkX2ZpbGVuYW1lX18gPSBcIi93b3JrL2gvYy9zY3JpcHRzL3ByZXBhcmUubWpzXCI7Y29uc3QgX19pbmplY3RlZF9kaXJuYW1lX18gPSBcIi93b3JrL2gvYy9zY3JpcHRzXCI7Y29uc3QgX19pbmplY3RlZF9pbXBvcnRfbWV0YV91cmxfXyA9IFwiZmlsZTovLy93b3JrL2gvYy9zY3JpcHRzL3ByZXBhcmUubWpzXCI7LyoqIFByZXBhcmVzIGEgY2xvbmUgZm9yIHRoZSBwcm9ncmFtIG9yIGl0cyB0ZXN0cy4gRWFjaCBzdGVwIGRvZXMgbm90aGluZyBpZiBpdHMgcmVzdWx0IGlzIHVwIHRvIGRhdGUuICovXG5pbXBvcnQgeyBzcGF3blN5bmMgfSBmcm9tICdub2RlOmNoaWxkX3Byb2Nlc3MnO1xuaW1wb3J0IHsgZXhpc3RzU3luYywgcmVhZGRpclN5bmMsIHN0YXRTeW5jIH0gZnJvbSAnbm9kZTpmcyc7XG5pbXBvcnQgeyBkaXJuYW1lLCBqb2luIH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB7IGZpbGVVUkxUb1BhdGggfSBmcm9tICdub2RlOnVybCc7XG5pbXBvcnQgeyBydW5XaXRoUHJvZ3Jlc3MgfSBmcm9tICcuL3J1bi13aXRoLXByb2dyZXNzLm1qcyc7XG5cbmNvbnN0IFJPT1QgPSBmaWxlVVJMVG9QYXRoKG5ldyBVUkwoJy4uJywgaW1wb3J0Lm1ldGEudXJsKSk7XG4vKiogbnBtIHdyaXRlcyBpdCBsYXN0LCBhdCB0aGUgZW5kIG9mIGFuIGluc3RhbGxhdGlvbiB0aGF0IHN1Y2NlZWRlZC4gKi9cbmNvbnN0IElOU1RBTExFRCA9IGpvaW4oUk9PVCwgJ25vZGVfbW9kdWxlcycsICcucGFja2FnZS1sb2NrLmpzb24nKTtcbmNvbnN0IExPQ0sgPSBqb2luKFJPT1QsICdwYWNrYWdlLWxvY2suanNvbicpO1xuY29uc3QgQlVJTFQgPSBbJ2Rpc3QvbWFpbi5qcycsICdkaXN0L2NsaWVudC9jbGllbnQuanMnXS5tYXAoKG5hbWUpID0+IGpvaW4oUk9PVCwgbmFtZSkpO1xuLyoqIFRoZSB0eXBlcyBvZiB0aGUgY2xpZW50IGFyZSBtYWRlIGZyb20gdGhlIHNjaGVtYXMgb2YgdGhlIEFQSS4gKi9cbmNvbnN0IENMSUVOVF9UWVBFU19GUk9NID0gWydzcmMvY29udHJhY3QnLCAnc3JjL2h0dHAnLCAnc2NyaXB0cy93cml0ZS1jbGllbnQtdHlwZXMudHMnLCAnc2NyaXB0cy9vcGVuYXBpLnRzJ107XG5jb25zdCBCVUlMVF9GUk9NID0gWydkb2NzJywgJ3NyYycsICdzY3JpcHRzJywgJ3BhY2thZ2UuanNvbicsICd0c3VwLmNvbmZpZy50cyddO1xuXG4vKiogSW5zdGFsbHMgdGhlIGxvY2tlZCBkZXBlbmRlbmNpZXMsIGRldiBvbmVzIGluY2x1ZGVkOiBhIGNsb25lIGJ1aWxkcyBpdHNlbGYuICovXG5leHBvcnQgYXN5bmMgZnVuY3Rpb24gZW5zdXJlSW5zdGFsbGVkKCkge1xuICBpZiAoZXhpc3RzU3luYyhJTlNUQUxMRUQpICYmIHN0YXRTeW5jKElOU1RBTExFRCkubXRpbWVNcyA+PSBzdGF0U3luYyhMT0NLKS5tdGltZU1zKSByZXR1cm47XG4gIHNheShcbiAgICBgSW5zdGFsbGluZyBkZXBlbmRlbmNpZXMgKCR7Y29tcGlsZXMoKSA/ICdvbmUgdG8gZml2ZSBtaW51dGVzLCBvbmNlLCBzaW5jZSBOb2RlIDIwIGNvbXBpbGVzIGFuIFNRTGl0ZSBkcml2ZXI7IE5vZGUgMjIgYW5kIG5ld2VyIGRvIG5vdCcgOiAnYWJvdXQgYSBtaW51dGUsIG9uY2UnfSkgXHUyMDI2YCxcbiAgKTtcbiAgY29uc3QgYXJncyA9IFsnY2knLCAnLS1pbmNsdWRlPWRldicsICctLW5vLWZ1bmQnLCAnLS1uby1hdWRpdCcsICctLWxvZ2xldmVsPWVycm9yJ107XG4gIGNvbnN0IHsgc3RhdHVzLCBvdXRwdXQgfSA9IGF3YWl0IHJ1bldpdGhQcm9ncmVzcyhcbiAgICAnbnBtJyxcbiAgICBbLi4uYXJncywgY29tcGlsZXMoKSA/ICctLWZvcmVncm91bmQtc2NyaXB0cycgOiAnLS1pZ25vcmUtc2NyaXB0cyddLFxuICAgIHtcbiAgICAgIGN3ZDogUk9PVCxcbiAgICAgIGVudjogeyAuLi5wcm9jZXNzLmVudiwgLi4uaGVhZGVyc0F0SGFuZCgpIH0sXG4gICAgICB3aGF0OiAnSW5zdGFsbGluZyBkZXBlbmRlbmNpZXMnLFxuICAgIH0sXG4gICk7XG4gIGlmIChzdGF0dXMgPT09IDApIHJldHVybjtcbiAgc2F5KGAke291dHB1dH1cXG5cXGBucG0gY2lcXGAgZmFpbGVkICgke3N0YXR1c30pLiBJdHMgb3duIHdvcmRzIGFyZSBhYm92ZS5gKTtcbiAgcHJvY2Vzcy5leGl0KDEpO1xufVxuXG4vKiogT25seSB0aGUgU1FMaXRlIGRyaXZlciBmb3IgTm9kZSAyMCBuZWVkcyBpdHMgaW5zdGFsbCBzY3JpcHQ6IG5ld2VyIE5vZGVzIGxvYWQgYW5vdGhlciwgYW5kIHdvdWxkIGNvbXBpbGUgdGhpcyBvbmUgZm9yIG5vdGhpbmcuICovXG5mdW5jdGlvbiBjb21waWxlcygpIHtcbiAgcmV0dXJuIE51bWJlci5wYXJzZUludChwcm9jZXNzLnZlcnNpb25zLm5vZGUsIDEwKSA8IDIyO1xufVxuXG4vKiogV2hlcmUgbm8gcHJlYnVpbHQgU1FMaXRlIGNhbiBiZSBkb3dubG9hZGVkIGl0IGlzIGNvbXBpbGVkOiBhZ2FpbnN0IHRoZSBoZWFkZXJzIHRoYXQgY2FtZSB3aXRoIHRoaXMgTm9kZSwgd2hlbiB0aGV5IGRpZC4gKi9cbmZ1bmN0aW9uIGhlYWRlcnNBdEhhbmQoKSB7XG4gIGNvbnN0IHByZWZpeCA9IGRpcm5hbWUoZGlybmFtZShwcm9jZXNzLmV4ZWNQYXRoKSk7XG4gIGNvbnN0IHRoZXJlID0gZXhpc3RzU3luYyhqb2luKHByZWZpeCwgJ2luY2x1ZGUnLCAnbm9kZScsICdub2RlX3ZlcnNpb24uaCcpKTtcbiAgcmV0dXJuIHRoZXJlICYmIHByb2Nlc3MuZW52Lm5wbV9jb25maWdfbm9kZWRpciA9PT0gdW5kZWZpbmVkID8geyBucG1fY29uZmlnX25vZGVkaXI6IHByZWZpeCB9IDoge307XG59XG5cbi8qKiBCdWlsZHMgZGlzdC8gaWYgaXQgaXMgbWlzc2luZyBvciBvbGRlciB0aGFuIGl0cyBzb3VyY2VzLiAqL1xuZXhwb3J0IGFzeW5jIGZ1bmN0aW9uIGVuc3VyZUJ1aWx0KCkge1xuICBhd2FpdCBlbnN1cmVJbnN0YWxsZWQoKTtcbiAgY29uc3QgY2hhbmdlZEF0ID0gbmV3ZXN0KEJVSUxUX0ZST00pO1xuICAvLyBgbnBtIHJ1biBkZXZgIGJ1aWxkcyB0aGUgcHJvZ3JhbSB3aXRob3V0IHRoZSBjbGllbnQuXG4gIGlmIChCVUlMVC5ldmVyeSgoZmlsZSkgPT4gZXhpc3RzU3luYyhmaWxlKSAmJiBzdGF0U3luYyhmaWxlKS5tdGltZU1zID49IGNoYW5nZWRBdCkpIHJldHVybjtcbiAgc2F5KCdCdWlsZGluZyBcdTIwMjYnKTtcbiAgcnVuKHByb2Nlc3MuZXhlY1BhdGgsIFtqb2luKFJPT1QsICdub2RlX21vZHVsZXMnLCAndHN1cCcsICdkaXN0JywgJ2NsaS1kZWZhdWx0LmpzJyksICctLXNpbGVudCddKTtcbn1cblxuLyoqIFdyaXRlcyBzcmMvY2xpZW50L3dpcmUudHMgaWYgaXQgaXMgbWlzc2luZyBvciBvbGRlciB0aGFuIHRoZSBzY2hlbWFzIHRoYXQgaXQgaXMgbWFkZSBmcm9tLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGVuc3VyZUNsaWVudFR5cGVzKCkge1xuICBjb25zdCBmaWxlID0gam9pbihST09ULCAnc3JjL2NsaWVudC93aXJlLnRzJyk7XG4gIGlmIChleGlzdHNTeW5jKGZpbGUpICYmIHN0YXRTeW5jKGZpbGUpLm10aW1lTXMgPj0gbmV3ZXN0KENMSUVOVF9UWVBFU19GUk9NKSkgcmV0dXJuO1xuICBydW4ocHJvY2Vzcy5leGVjUGF0aCwgW2pvaW4oUk9PVCwgJ3NjcmlwdHMvcnVuLXRzLm1qcycpLCAnLS1uby1idWlsZCcsIGpvaW4oUk9PVCwgJ3NjcmlwdHMvd3JpdGUtY2xpZW50LXR5cGVzLnRzJyldKTtcbn1cblxuZnVuY3Rpb24gbmV3ZXN0KG5hbWVzKSB7XG4gIHJldHVybiBNYXRoLm1heCguLi5uYW1lcy5tYXAoKG5hbWUpID0+IG5ld2VzdEluKGpvaW4oUk9PVCwgbmFtZSkpKSk7XG59XG5cbmZ1bmN0aW9uIG5ld2VzdEluKHBhdGgpIHtcbiAgY29uc3Qgc3RhdCA9IHN0YXRTeW5jKHBhdGgpO1xuICBpZiAoIXN0YXQuaXNEaXJlY3RvcnkoKSkgcmV0dXJuIHN0YXQubXRpbWVNcztcbiAgcmV0dXJuIE1hdGgubWF4KDAsIC4uLnJlYWRkaXJTeW5jKHBhdGgpLm1hcCgobmFtZSkgPT4gbmV3ZXN0SW4oam9pbihwYXRoLCBuYW1lKSkpKTtcbn1cblxuLyoqIFJ1bnMgYSBjb21tYW5kIGluIHRoZSBwcm9qZWN0J3Mgcm9vdCB3aXRoIGl0cyBvdXRwdXQgb24gc3RkZXJyOyBlbmRzIHRoaXMgcHJvY2VzcyB3aGVuIGl0IGZhaWxzLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHJ1bihjb21tYW5kLCBhcmdzLCBvcHRpb25zID0ge30pIHtcbiAgY29uc3QgcmVzdWx0ID0gc3Bhd25TeW5jKGNvbW1hbmQsIGFyZ3MsIHsgY3dkOiBST09ULCBzdGRpbzogWydpZ25vcmUnLCAyLCAyXSwgLi4ub3B0aW9ucyB9KTtcbiAgaWYgKHJlc3VsdC5lcnJvcikge1xuICAgIHNheShgJHtjb21tYW5kfSBjb3VsZCBub3QgYmUgc3RhcnRlZDogJHtyZXN1bHQuZXJyb3IubWVzc2FnZX1gKTtcbiAgICBwcm9jZXNzLmV4aXQoMSk7XG4gIH1cbiAgaWYgKHJlc3VsdC5zdGF0dXMgIT09IDApIHtcbiAgICBzYXkoYFxcYCR7Y29tbWFuZH0gJHthcmdzLmpvaW4oJyAnKX1cXGAgZmFpbGVkICgke3Jlc3VsdC5zdGF0dXMgPz8gcmVzdWx0LnNpZ25hbH0pLiBJdHMgb3duIHdvcmRzIGFyZSBhYm92ZS5gKTtcbiAgICBwcm9jZXNzLmV4aXQoMSk7XG4gIH1cbn1cblxuZnVuY3Rpb24gc2F5KGxpbmUpIHtcbiAgY29uc29sZS5lcnJvcihsaW5lKTtcbn1cbiIsICJjb25zdCBfX2luamVjdGVkX2ZpbGVuYW1lX18gPSBcIi93b3JrL2gvYy9zY3JpcHRzL3J1bi13aXRoLXByb2dyZXNzLm1qc1wiO2NvbnN0IF9faW5qZWN0ZWRfZGlybmFtZV9fID0gXCIvd29yay9oL2Mvc2NyaXB0c1wiO2NvbnN0IF9faW5qZWN0ZWRfaW1wb3J0X21ldGFfdXJsX18gPSBcImZpbGU6Ly8vd29yay9oL2Mvc2NyaXB0cy9ydW4td2l0aC1wcm9ncmVzcy5tanNcIjsvKiogUnVucyBhIGNvbW1hbmQgdGhhdCBpcyBzaWxlbnQgZm9yIG1pbnV0ZXMsIGFuZCBzYXlzIG1lYW53aGlsZSBob3cgbG9uZyBpdCBoYXMgcnVuLiBQbGFpbiBOb2RlOiB0aGUgcGFja2FnZSBoYXMgaXQgZm9yIGl0cyBpbnN0YWxsIHNjcmlwdC4gKi9cbmltcG9ydCB7IHNwYXduIH0gZnJvbSAnbm9kZTpjaGlsZF9wcm9jZXNzJztcblxuLyoqIE9uIGEgdGVybWluYWwsIGFuZCBlbHNld2hlcmUsIHdoZXJlIGVhY2ggaXMgYSBsaW5lIG9mIGl0cyBvd24uICovXG5jb25zdCBUSUNLU19NUyA9IHsgdGVybWluYWw6IDFfMDAwLCBsb2c6IDE1XzAwMCB9O1xuY29uc3QgT1VUUFVUX0tFUFRfQ0hBUlMgPSA4XzE5MjtcblxuLyoqIEByZXR1cm5zIHRoZSBleGl0IGNvZGUsIG51bGwgaWYgdGhlIGNvbW1hbmQgY291bGQgbm90IGJlIHN0YXJ0ZWQgb3Igd2FzIGVuZGVkIGJ5IGEgc2lnbmFsLCBhbmQgdGhlIGVuZCBvZiBpdHMgb3V0cHV0ICovXG5leHBvcnQgYXN5bmMgZnVuY3Rpb24gcnVuV2l0aFByb2dyZXNzKGNvbW1hbmQsIGFyZ3MsIHsgd2hhdCwgb3V0ID0gcHJvY2Vzcy5zdGRlcnIsIGV2ZXJ5TXMsIC4uLm9wdGlvbnMgfSkge1xuICBjb25zdCBiZWdhbiA9IERhdGUubm93KCk7XG4gIGNvbnN0IGNoaWxkID0gc3Bhd24oY29tbWFuZCwgYXJncywgeyAuLi5vcHRpb25zLCBzdGRpbzogWydpZ25vcmUnLCAncGlwZScsICdwaXBlJ10gfSk7XG4gIGxldCBvdXRwdXQgPSAnJztcbiAgbGV0IGRvaW5nID0gd2hhdDtcbiAgY29uc3Qgb25PdXRwdXQgPSAoY2h1bmspID0+IHtcbiAgICBvdXRwdXQgPSAob3V0cHV0ICsgY2h1bmspLnNsaWNlKC1PVVRQVVRfS0VQVF9DSEFSUyk7XG4gICAgLy8gbm9kZS1neXAgc2F5cyBzbyBiZWZvcmUgaXQgY2FsbHMgYSBjb21waWxlci5cbiAgICBpZiAoL1xcYmd5cCBpbmZvfFxcYm5vZGUtZ3lwXFxiLy50ZXN0KG91dHB1dCkpIGRvaW5nID0gYCR7d2hhdH06IGNvbXBpbGluZ2A7XG4gIH07XG4gIGZvciAoY29uc3Qgc3RyZWFtIG9mIFtjaGlsZC5zdGRvdXQsIGNoaWxkLnN0ZGVycl0pIHN0cmVhbS5zZXRFbmNvZGluZygndXRmOCcpLm9uKCdkYXRhJywgb25PdXRwdXQpO1xuICBjb25zdCBsaW5lID0gKCkgPT4gYCR7ZG9pbmd9IFx1MjAyNiAke01hdGgucm91bmQoKERhdGUubm93KCkgLSBiZWdhbikgLyAxXzAwMCl9IHNgO1xuICBjb25zdCBzaG93ID0gKCkgPT4gb3V0LndyaXRlKG91dC5pc1RUWSA/IGBcXHJcXHUwMDFiWzJLJHtsaW5lKCl9YCA6IGAke2xpbmUoKX1cXG5gKTtcbiAgY29uc3QgdGltZXIgPSBzZXRJbnRlcnZhbChzaG93LCBldmVyeU1zID8/IChvdXQuaXNUVFkgPyBUSUNLU19NUy50ZXJtaW5hbCA6IFRJQ0tTX01TLmxvZykpO1xuICBjb25zdCBzdGF0dXMgPSBhd2FpdCBuZXcgUHJvbWlzZSgoZW5kZWQpID0+IHtcbiAgICBjaGlsZC5vbmNlKCdlcnJvcicsIChlcnJvcikgPT4ge1xuICAgICAgb3V0cHV0ICs9IGVycm9yLm1lc3NhZ2U7XG4gICAgICBlbmRlZChudWxsKTtcbiAgICB9KTtcbiAgICBjaGlsZC5vbmNlKCdjbG9zZScsIGVuZGVkKTtcbiAgfSk7XG4gIGNsZWFySW50ZXJ2YWwodGltZXIpO1xuICBpZiAob3V0LmlzVFRZKSBvdXQud3JpdGUoJ1xcclxcdTAwMWJbMksnKTtcbiAgcmV0dXJuIHsgc3RhdHVzLCBvdXRwdXQgfTtcbn1cbiJdLAogICJtYXBwaW5ncyI6ICI7Ozs7Ozs7Ozs7O0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFDQSxTQUFTLG9CQUFvQjtBQUM3QixTQUFTLFNBQVMsU0FBUyxZQUFZO0FBQ3ZDLFNBQVMsY0FBYztBQVNoQixTQUFTLFdBQVcsVUFBVTtBQUNuQyxRQUFNLFNBQVMsT0FBTyxRQUFRLEtBQUssTUFBTSxhQUFhLFVBQVUsTUFBTSxDQUFDLENBQUM7QUFDeEUsUUFBTSxRQUFRLE9BQU8sUUFBUSxDQUFDLENBQUMsRUFBRSxLQUFLLE1BQU0sS0FBSztBQUNqRCxRQUFNLE1BQU0sUUFBUSxRQUFRO0FBQzVCLFNBQU8sT0FBTyxJQUFJLENBQUMsQ0FBQyxPQUFPLEtBQUssT0FBTyxFQUFFLE9BQU8sT0FBTyxNQUFNLElBQUksQ0FBQyxTQUFTLFdBQVcsRUFBRSxLQUFLLE1BQU0sTUFBTSxDQUFDLENBQUMsRUFBRSxFQUFFO0FBQ2pIO0FBRUEsU0FBUyxXQUFXLEVBQUUsS0FBSyxNQUFNLE1BQU0sR0FBRztBQUN4QyxRQUFNLFdBQVcsYUFBYSxLQUFLLEtBQUssR0FBRyxJQUFJLEtBQUssR0FBRyxNQUFNO0FBQzdELFFBQU0sQ0FBQyxFQUFFLFFBQVEsSUFBSSxJQUFJLFlBQVksS0FBSyxRQUFRLEtBQUssQ0FBQztBQUN4RCxRQUFNLFdBQVcsQ0FBQztBQUNsQixRQUFNLE1BQU0sb0JBQUksSUFBSTtBQUNwQixRQUFNLFNBQVMsSUFBSSxPQUFPO0FBQUEsSUFDeEIsVUFBVTtBQUFBLE1BQ1IsUUFBUSxFQUFFLFFBQVEsT0FBTyxNQUFBQSxNQUFLLEdBQUc7QUFDL0IsY0FBTSxDQUFDLElBQUlDLEtBQUksSUFBSSxDQUFDLFNBQVNELEtBQUksR0FBRyxLQUFLLE9BQU8sWUFBWSxNQUFNLENBQUM7QUFDbkUsWUFBSSxJQUFJLEVBQUU7QUFDVixZQUFJLFVBQVUsRUFBRyxVQUFTLEtBQUssRUFBRSxJQUFJLE1BQU1DLE1BQUssUUFBUSxrQkFBa0IsRUFBRSxFQUFFLENBQUM7QUFDL0UsZUFBTyxLQUFLLEtBQUssUUFBUSxFQUFFLEtBQUtBLEtBQUksTUFBTSxLQUFLO0FBQUE7QUFBQSxNQUNqRDtBQUFBLE1BQ0EsS0FBSyxFQUFFLE1BQU0sT0FBTyxHQUFHO0FBQ3JCLGNBQU1ELFFBQU8sS0FBSyxPQUFPLFlBQVksTUFBTTtBQUMzQyxjQUFNLEtBQUssT0FBTyxNQUFNLE9BQU8sU0FBUyxRQUFRLFVBQVUsRUFBRTtBQUM1RCxlQUFPLE9BQU8sT0FBT0EsUUFBTyxZQUFZLEVBQUUsS0FBS0EsS0FBSTtBQUFBLE1BQ3JEO0FBQUEsTUFDQSxNQUFNLEVBQUUsTUFBTSxNQUFBQSxNQUFLLEdBQUc7QUFDcEIsY0FBTSxPQUFPLGFBQWEsS0FBSyxLQUFLLElBQUksR0FBRyxRQUFRO0FBQ25ELGVBQU8sd0JBQXdCLFFBQVEsSUFBSSxFQUFFLE1BQU0sQ0FBQyxDQUFDLFdBQVcsSUFBSSxVQUFVQSxLQUFJO0FBQUEsTUFDcEY7QUFBQSxNQUNBLE1BQU0sRUFBRSxRQUFRLEtBQUssR0FBRztBQUN0QixjQUFNLFNBQVMsQ0FBQyxTQUFTLEtBQUssT0FBTyxZQUFZLEtBQUssTUFBTTtBQUM1RCxjQUFNLE9BQU8sS0FBSyxJQUFJLENBQUMsQ0FBQ0UsUUFBVSxRQUFLLE1BQU07QUFDM0MsZ0JBQU0sUUFBUSxNQUFNLElBQUksQ0FBQyxNQUFNLE1BQU0sa0JBQWtCLE9BQU8sSUFBSSxDQUFDLEVBQUUsSUFBSSxLQUFLLE9BQU8sSUFBSSxDQUFDLE9BQU87QUFDakcsaUJBQU8sTUFBTSxNQUFNQSxRQUFPLEdBQUcsQ0FBQyxvQkFBb0IsT0FBT0EsTUFBSyxDQUFDLFFBQVEsTUFBTSxLQUFLLEVBQUUsQ0FBQztBQUFBO0FBQUEsUUFDdkYsQ0FBQztBQUNELGNBQU0sT0FBTyxPQUFPLElBQUksQ0FBQyxTQUFTLG1CQUFtQixPQUFPLElBQUksQ0FBQyxPQUFPLEVBQUUsS0FBSyxFQUFFO0FBQ2pGLGVBQU8sd0RBQXdELElBQUk7QUFBQSxFQUF5QixLQUFLLEtBQUssRUFBRSxDQUFDO0FBQUE7QUFBQSxNQUMzRztBQUFBLElBQ0Y7QUFBQSxFQUNGLENBQUM7QUFDRCxRQUFNLE9BQU8sU0FBUyxRQUFRLFlBQVksRUFBRTtBQUM1QyxRQUFNLE9BQU8sT0FBTyxNQUFNLElBQUk7QUFDOUIsUUFBTSxDQUFDLFFBQVEsRUFBRSxJQUFJLDJCQUEyQixLQUFLLElBQUksS0FBSyxDQUFDO0FBQy9ELFNBQU8sRUFBRSxNQUFNLFNBQVMsUUFBUSxLQUFLLE1BQU0sT0FBTyxNQUFNLFdBQVcsS0FBSyxHQUFHLE1BQU0sU0FBUztBQUM1RjtBQUdBLFNBQVMsTUFBTSxFQUFFLFFBQVEsQ0FBQyxLQUFLLEVBQUUsR0FBRyxLQUFLO0FBQ3ZDLE1BQUksT0FBTyxTQUFTLGNBQWMsQ0FBQyxZQUFZLEtBQUssTUFBTSxJQUFJLEtBQUssSUFBSSxJQUFJLE1BQU0sSUFBSSxFQUFHLFFBQU87QUFDL0YsTUFBSSxJQUFJLE1BQU0sSUFBSTtBQUNsQixTQUFPLFFBQVEsTUFBTSxJQUFJO0FBQzNCO0FBR0EsU0FBUyxXQUFXLFdBQVc7QUFDN0IsUUFBTSxPQUFPLFVBQVUsUUFBUSxrQkFBa0IsRUFBRTtBQUNuRCxTQUFPLG9CQUFvQixLQUFLLElBQUksSUFBSSxDQUFDLEVBQUUsUUFBUSxNQUFNLEdBQUcsS0FBSztBQUNuRTtBQUdBLFNBQVMsU0FBUyxTQUFTO0FBQ3pCLFNBQU8sUUFDSixZQUFZLEVBQ1osUUFBUSxzQkFBc0IsRUFBRSxFQUNoQyxXQUFXLEtBQUssR0FBRztBQUN4QjtBQUdBLFNBQVMsT0FBTyxNQUFNLE9BQU8sUUFBUTtBQUNuQyxNQUFJLGNBQWMsS0FBSyxJQUFJLEVBQUcsUUFBTztBQUNyQyxRQUFNLENBQUMsRUFBRSxNQUFNLFNBQVMsRUFBRSxJQUFJLHVCQUF1QixLQUFLLElBQUksS0FBSyxDQUFDO0FBQ3BFLE1BQUksQ0FBQyxNQUFNLFNBQVMsSUFBSSxFQUFHLFFBQU87QUFDbEMsU0FBTyxTQUFTLFFBQVEsVUFBVSxNQUFNLEtBQUssR0FBRyxNQUFNLEdBQUcsSUFBSSxHQUFHLE1BQU07QUFDeEU7QUFyRkEsSUFNTTtBQU5OO0FBQUE7QUFBQTtBQU1BLElBQU0sUUFBUTtBQUFBO0FBQUE7OztBQ04ySixTQUFTLGNBQWMsU0FBQUMsY0FBYTtBQUM3TSxTQUFTLFlBQVk7QUFDckIsU0FBUyxjQUFjLFdBQVcsZUFBQUMsY0FBYSxnQkFBQUMsZUFBYyxxQkFBcUI7QUFDbEYsU0FBUyxxQkFBcUI7QUFDOUIsU0FBUyxXQUFBQyxVQUFTLFFBQUFDLE9BQU0sV0FBQUMsZ0JBQWU7QUFFdkMsU0FBUyxvQkFBa0M7OztBQ0QzQyxTQUFTLFdBQUFDLFVBQVMsZUFBZTtBQUNqQyxTQUFTLGFBQWE7QUFFdEIsSUFBTSxRQUFRO0FBR1AsU0FBUyx5QkFBeUI7QUFDdkMsU0FBTztBQUFBLElBQ0wsTUFBTTtBQUFBLElBQ04sTUFBTSxTQUFTO0FBQ2IsY0FBUSxVQUFVLEVBQUUsUUFBUSxNQUFNLEdBQUcsQ0FBQyxFQUFFLE1BQU0sU0FBUyxPQUFPO0FBQUEsUUFDNUQsTUFBTSxRQUFRLE1BQU0sUUFBUTtBQUFBLFFBQzVCLFdBQVc7QUFBQSxNQUNiLEVBQUU7QUFDRixjQUFRLE9BQU8sRUFBRSxRQUFRLEtBQUssV0FBVyxnQkFBZ0IsR0FBRyxPQUFPLEVBQUUsS0FBSyxPQUFPO0FBQUEsUUFDL0UsVUFBVSxNQUFNLFNBQVMsSUFBSTtBQUFBLFFBQzdCLFFBQVE7QUFBQSxNQUNWLEVBQUU7QUFBQSxJQUNKO0FBQUEsRUFDRjtBQUNGO0FBY0EsU0FBUyxRQUFRLE1BQU0sVUFBVTtBQUMvQixTQUFPLFFBQVFDLFNBQVEsUUFBUSxHQUFHLElBQUksRUFBRSxRQUFRLGtCQUFrQixhQUFhO0FBQ2pGO0FBRUEsZUFBZSxTQUFTLE9BQU87QUFDN0IsUUFBTSxPQUFPLE1BQU0sUUFBUSxPQUFPLEVBQUU7QUFDcEMsTUFBSSxNQUFNLFNBQVMsVUFBVSxFQUFHLFFBQU8seUJBQXlCLEtBQUssVUFBVSxNQUFNLGNBQWMsSUFBSSxDQUFDLENBQUM7QUFDekcsUUFBTSxFQUFFLFlBQUFDLFlBQVcsSUFBSSxNQUFNO0FBQzdCLFNBQU8seUJBQXlCLEtBQUssVUFBVUEsWUFBVyxJQUFJLENBQUMsQ0FBQztBQUNsRTtBQUdBLGVBQXNCLGNBQWMsT0FBTztBQUN6QyxRQUFNLEVBQUUsWUFBWSxJQUFJLE1BQU0sTUFBTTtBQUFBLElBQ2xDLGFBQWEsQ0FBQyxLQUFLO0FBQUEsSUFDbkIsUUFBUTtBQUFBLElBQ1IsUUFBUTtBQUFBLElBQ1IsUUFBUTtBQUFBLElBQ1IsWUFBWTtBQUFBLElBQ1osVUFBVTtBQUFBLElBQ1YsUUFBUTtBQUFBLElBQ1IsU0FBUztBQUFBLElBQ1QsZUFBZTtBQUFBLElBQ2YsT0FBTztBQUFBLEVBQ1QsQ0FBQztBQUNELFNBQU8sWUFBWSxDQUFDLEVBQUU7QUFDeEI7OztBQ2hFQSxTQUFTLGlCQUFpQjtBQUMxQixTQUFTLFlBQVksYUFBYSxnQkFBZ0I7QUFDbEQsU0FBUyxXQUFBQyxVQUFTLFFBQUFDLGFBQVk7QUFDOUIsU0FBUyxxQkFBcUI7OztBQ0g5QixTQUFTLGFBQWE7OztBRER5RixJQUFNLCtCQUErQjtBQU9wSixJQUFNLE9BQU8sY0FBYyxJQUFJLElBQUksTUFBTSw0QkFBZSxDQUFDO0FBRXpELElBQU0sWUFBWUMsTUFBSyxNQUFNLGdCQUFnQixvQkFBb0I7QUFDakUsSUFBTSxPQUFPQSxNQUFLLE1BQU0sbUJBQW1CO0FBQzNDLElBQU0sUUFBUSxDQUFDLGdCQUFnQix1QkFBdUIsRUFBRSxJQUFJLENBQUMsU0FBU0EsTUFBSyxNQUFNLElBQUksQ0FBQztBQUV0RixJQUFNLG9CQUFvQixDQUFDLGdCQUFnQixZQUFZLGlDQUFpQyxvQkFBb0I7QUErQ3JHLFNBQVMsb0JBQW9CO0FBQ2xDLFFBQU0sT0FBT0MsTUFBSyxNQUFNLG9CQUFvQjtBQUM1QyxNQUFJLFdBQVcsSUFBSSxLQUFLLFNBQVMsSUFBSSxFQUFFLFdBQVcsT0FBTyxpQkFBaUIsRUFBRztBQUM3RSxNQUFJLFFBQVEsVUFBVSxDQUFDQSxNQUFLLE1BQU0sb0JBQW9CLEdBQUcsY0FBY0EsTUFBSyxNQUFNLCtCQUErQixDQUFDLENBQUM7QUFDckg7QUFFQSxTQUFTLE9BQU8sT0FBTztBQUNyQixTQUFPLEtBQUssSUFBSSxHQUFHLE1BQU0sSUFBSSxDQUFDLFNBQVMsU0FBU0EsTUFBSyxNQUFNLElBQUksQ0FBQyxDQUFDLENBQUM7QUFDcEU7QUFFQSxTQUFTLFNBQVMsTUFBTTtBQUN0QixRQUFNLE9BQU8sU0FBUyxJQUFJO0FBQzFCLE1BQUksQ0FBQyxLQUFLLFlBQVksRUFBRyxRQUFPLEtBQUs7QUFDckMsU0FBTyxLQUFLLElBQUksR0FBRyxHQUFHLFlBQVksSUFBSSxFQUFFLElBQUksQ0FBQyxTQUFTLFNBQVNBLE1BQUssTUFBTSxJQUFJLENBQUMsQ0FBQyxDQUFDO0FBQ25GO0FBR08sU0FBUyxJQUFJLFNBQVMsTUFBTSxVQUFVLENBQUMsR0FBRztBQUMvQyxRQUFNLFNBQVMsVUFBVSxTQUFTLE1BQU0sRUFBRSxLQUFLLE1BQU0sT0FBTyxDQUFDLFVBQVUsR0FBRyxDQUFDLEdBQUcsR0FBRyxRQUFRLENBQUM7QUFDMUYsTUFBSSxPQUFPLE9BQU87QUFDaEIsUUFBSSxHQUFHLE9BQU8sMEJBQTBCLE9BQU8sTUFBTSxPQUFPLEVBQUU7QUFDOUQsWUFBUSxLQUFLLENBQUM7QUFBQSxFQUNoQjtBQUNBLE1BQUksT0FBTyxXQUFXLEdBQUc7QUFDdkIsUUFBSSxLQUFLLE9BQU8sSUFBSSxLQUFLLEtBQUssR0FBRyxDQUFDLGNBQWMsT0FBTyxVQUFVLE9BQU8sTUFBTSw2QkFBNkI7QUFDM0csWUFBUSxLQUFLLENBQUM7QUFBQSxFQUNoQjtBQUNGO0FBRUEsU0FBUyxJQUFJLE1BQU07QUFDakIsVUFBUSxNQUFNLElBQUk7QUFDcEI7OztBRjNGa0csSUFBTUMsZ0NBQStCO0FBVXZJLElBQU1DLFdBQVUsY0FBY0QsNkJBQWU7QUFHN0MsSUFBTSxTQUF1QztBQUFBLEVBQzNDLENBQUNDLFNBQVEsUUFBUSxnQ0FBZ0MsR0FBRyxxQkFBcUI7QUFBQSxFQUN6RSxDQUFDQSxTQUFRLFFBQVEsc0NBQXNDLEdBQUcsMkJBQTJCO0FBQUEsRUFDckYsQ0FBQ0EsU0FBUSxRQUFRLHlCQUF5QixHQUFHLHlCQUF5QjtBQUN4RTtBQUVBLElBQU0sU0FBUztBQUFBLEVBQ2I7QUFBQSxFQUNBLEdBQUcsQ0FBQyxrQkFBa0IsaUJBQWlCLE1BQU0sRUFBRSxJQUFJLENBQUMsU0FBUyw2QkFBNkIsSUFBSSxFQUFFO0FBQ2xHO0FBR0EsSUFBTSxVQUFvQztBQUFBO0FBQUEsRUFFeEMsS0FBSztBQUFBLElBQ0g7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsRUFDRjtBQUFBO0FBQUEsRUFFQSxlQUFlO0FBQUEsSUFDYjtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsRUFDRjtBQUFBLEVBQ0EsUUFBUSxDQUFDLFFBQVE7QUFBQTtBQUFBLEVBRWpCLFFBQVE7QUFBQTtBQUFBLEVBRVIsS0FBSyxDQUFDLEtBQUs7QUFDYjtBQUdBLElBQU0sV0FBVyxDQUFDLGFBQWEsYUFBYSxRQUFRLFNBQVMsU0FBUyxPQUFPO0FBRzdFLFNBQVMsa0JBQTBCO0FBQ2pDLFNBQU87QUFBQSxJQUNMLE1BQU07QUFBQSxJQUNOLE1BQU1DLFFBQU87QUFDWCxZQUFNLFNBQVMsSUFBSSxPQUFPLEtBQUssU0FBUyxLQUFLLEdBQUcsQ0FBQyxJQUFJO0FBQ3JELE1BQUFBLE9BQU0sVUFBVSxFQUFFLE9BQU8sR0FBRyxDQUFDLEVBQUUsS0FBSyxPQUFPLEVBQUUsTUFBTSxXQUFXLFdBQVcsRUFBRTtBQUMzRSxNQUFBQSxPQUFNLE9BQU8sRUFBRSxRQUFRLFdBQVcsV0FBVyxHQUFHLENBQUMsRUFBRSxLQUFLLE1BQU07QUFDNUQsY0FBTSxRQUFRLE9BQU8sS0FBS0QsU0FBUSxJQUFJLENBQUMsRUFBRSxPQUFPLENBQUMsU0FBUyxTQUFTLFNBQVM7QUFDNUUsY0FBTSxPQUFPO0FBQUEsaURBQWdHLElBQUk7QUFDakgsZUFBTyxFQUFFLFVBQVUsR0FBRyxJQUFJO0FBQUE7QUFBQSxpQkFBNEMsTUFBTSxLQUFLLElBQUksQ0FBQyxlQUFlO0FBQUEsTUFDdkcsQ0FBQztBQUFBLElBQ0g7QUFBQSxFQUNGO0FBQ0Y7QUFHQSxTQUFTLHFCQUE2QjtBQUNwQyxTQUFPO0FBQUEsSUFDTCxNQUFNO0FBQUEsSUFDTixNQUFNQyxRQUFPO0FBQ1gsTUFBQUEsT0FBTSxVQUFVLEVBQUUsUUFBUSxxQ0FBcUMsR0FBRyxDQUFDLEVBQUUsS0FBSyxPQUFPO0FBQUEsUUFDL0U7QUFBQSxRQUNBLFdBQVc7QUFBQSxNQUNiLEVBQUU7QUFDRixZQUFNLFdBQVc7QUFDakIsTUFBQUEsT0FBTSxPQUFPLEVBQUUsUUFBUSxLQUFLLFdBQVcsYUFBYSxHQUFHLE9BQU8sRUFBRSxTQUFTLEVBQUU7QUFBQSxJQUM3RTtBQUFBLEVBQ0Y7QUFDRjtBQUdBLElBQU0sU0FBUztBQUdmLFNBQVMsaUJBQXlCO0FBQ2hDLFNBQU87QUFBQSxJQUNMLE1BQU07QUFBQSxJQUNOLE1BQU1BLFFBQU87QUFDWCxNQUFBQSxPQUFNLFVBQVUsRUFBRSxRQUFRLDZCQUE2QixHQUFHLE9BQU8sRUFBRSxNQUFNQyxTQUFRLDBCQUEwQixFQUFFLEVBQUU7QUFDL0csTUFBQUQsT0FBTSxPQUFPLEVBQUUsUUFBUSxnQ0FBZ0MsR0FBRyxDQUFDLEVBQUUsS0FBSyxNQUFNO0FBQ3RFLGNBQU0sU0FBU0UsY0FBYSxNQUFNLE1BQU07QUFDeEMsWUFBSSxDQUFDLE9BQU8sU0FBUyxNQUFNLEVBQUcsT0FBTSxJQUFJLE1BQU0sb0RBQW9EO0FBQ2xHLGVBQU8sRUFBRSxVQUFVLE9BQU8sUUFBUSxRQUFRLGlDQUFpQyxFQUFFO0FBQUEsTUFDL0UsQ0FBQztBQUFBLElBQ0g7QUFBQSxFQUNGO0FBQ0Y7QUFNQSxJQUFNLE9BQU87QUFBQTtBQUFBO0FBVWIsSUFBTSxVQUFVLENBQUMsRUFBRSxPQUFPLFVBQVUsT0FBdUI7QUFBQSxFQUN6RCxPQUFPO0FBQUEsSUFDTCxNQUFNO0FBQUEsSUFDTixZQUFZO0FBQUEsSUFDWixxQkFBcUI7QUFBQSxJQUNyQixrQkFBa0I7QUFBQSxJQUNsQixjQUFjO0FBQUEsSUFDZCxrQkFBa0I7QUFBQSxJQUNsQix3QkFBd0I7QUFBQSxJQUN4QixlQUFlO0FBQUEsSUFDZixtQkFBbUI7QUFBQSxFQUNyQjtBQUFBLEVBQ0EsUUFBUTtBQUFBLEVBQ1IsUUFBUTtBQUFBLEVBQ1IsVUFBVTtBQUFBLEVBQ1YsUUFBUTtBQUFBLEVBQ1IsT0FBTyxDQUFDLFlBQVk7QUFBQSxFQUNwQixZQUFZO0FBQUEsRUFDWixnQkFBZ0IsQ0FBQyx1QkFBdUIsR0FBRyxnQkFBZ0IsR0FBRyxtQkFBbUIsR0FBRyxlQUFlLENBQUM7QUFBQSxFQUNwRyxNQUFNLFlBQVk7QUFDaEIsa0JBQWMsZ0JBQWdCQSxjQUFhLGdCQUFnQixNQUFNLEVBQUUsUUFBUSx5QkFBeUIsSUFBSSxDQUFDO0FBQ3pHLFFBQUksVUFBVyxjQUFhLGtCQUFrQjtBQUM5QyxpQkFBYSxRQUFRLFVBQVUsQ0FBQywyQkFBMkIsWUFBWSxHQUFHO0FBQUEsTUFDeEUsT0FBTyxDQUFDLFVBQVUsVUFBVSxTQUFTO0FBQUEsSUFDdkMsQ0FBQztBQUNELGlCQUFhLFFBQVEsVUFBVSxDQUFDLHNCQUFzQixjQUFjLDBCQUEwQixHQUFHO0FBQUEsTUFDL0YsT0FBTyxDQUFDLFVBQVUsVUFBVSxTQUFTO0FBQUEsSUFDdkMsQ0FBQztBQUNELGVBQVcsQ0FBQyxNQUFNLEVBQUUsS0FBSyxRQUFRO0FBQy9CLGdCQUFVQyxTQUFRQyxNQUFLLFFBQVEsRUFBRSxDQUFDLEdBQUcsRUFBRSxXQUFXLEtBQUssQ0FBQztBQUN4RCxtQkFBYSxNQUFNQSxNQUFLLFFBQVEsRUFBRSxDQUFDO0FBQUEsSUFDckM7QUFDQSxlQUFXLENBQUMsTUFBTSxRQUFRLEtBQUssT0FBTyxRQUFRLE9BQU8sR0FBRztBQUN0RCxZQUFNLFdBQVcsU0FBUztBQUFBLFFBQ3hCLENBQUMsU0FBUyxHQUFHLEtBQUssTUFBTSxnQkFBZ0IsRUFBRSxHQUFHLEVBQUUsQ0FBQztBQUFBO0FBQUEsRUFBTyxZQUFZQSxNQUFLLGdCQUFnQixJQUFJLENBQUMsQ0FBQztBQUFBLE1BQ2hHO0FBQ0Esb0JBQWMsUUFBUSxJQUFJLGlCQUFpQixTQUFTLEtBQUssTUFBTSxDQUFDO0FBQUEsSUFDbEU7QUFDQSxRQUFJLE1BQU8sUUFBTyxZQUFZO0FBQUEsRUFDaEM7QUFDRjtBQUVBLFNBQVMsWUFBWSxRQUF3QjtBQUMzQyxRQUFNLENBQUMsT0FBTyxTQUFTLElBQUlDLGFBQVksTUFBTSxFQUFFLE9BQU8sQ0FBQyxTQUFTLG1CQUFtQixLQUFLLElBQUksQ0FBQztBQUM3RixTQUFPSCxjQUFhRSxNQUFLLFFBQVEsSUFBSSxHQUFHLE1BQU07QUFDaEQ7QUFHQSxTQUFTLGFBQWEsTUFBb0I7QUFDeEMsUUFBTSxNQUFNLEtBQUssTUFBTUYsY0FBYSxNQUFNLE1BQU0sQ0FBQztBQUNqRCxnQkFBYyxNQUFNLEtBQUssVUFBVSxFQUFFLEdBQUcsS0FBSyxVQUFVLElBQUksSUFBSSxRQUFRLEdBQUcsQ0FBQyxDQUFDO0FBQzlFO0FBR0EsU0FBUyxjQUFtQztBQUMxQyxRQUFNLGVBQWUsd0JBQXdCLFFBQVEsSUFBSSxnQkFBZ0IsRUFBRSxHQUFHLEtBQUs7QUFDbkYsUUFBTSxTQUFTSSxPQUFNLGdCQUFnQixDQUFDLE9BQU8sR0FBRyxFQUFFLE9BQU8sV0FBVyxLQUFLLEVBQUUsR0FBRyxRQUFRLEtBQUssYUFBYSxFQUFFLENBQUM7QUFDM0csU0FBTyxZQUFZO0FBQ2pCLFFBQUksT0FBTyxhQUFhLFFBQVEsT0FBTyxlQUFlLEtBQU07QUFDNUQsV0FBTyxLQUFLO0FBQ1osVUFBTSxLQUFLLFFBQVEsTUFBTTtBQUFBLEVBQzNCO0FBQ0Y7QUFHQSxJQUFNLFNBQWtCO0FBQUEsRUFDdEIsT0FBTyxFQUFFLFFBQVEsdUJBQXVCO0FBQUEsRUFDeEMsUUFBUSxDQUFDLE9BQU8sS0FBSztBQUFBLEVBQ3JCLFFBQVE7QUFBQSxFQUNSLFVBQVU7QUFBQSxFQUNWLFFBQVE7QUFBQSxFQUNSLE9BQU87QUFBQSxFQUNQLFdBQVc7QUFBQSxFQUNYLFdBQVc7QUFBQSxFQUNYLFVBQVU7QUFBQSxFQUNWLEtBQUs7QUFDUDtBQUVBLGtCQUFrQjtBQUNsQixJQUFPLHNCQUFRLGFBQWEsQ0FBQyxVQUFXLE1BQU0sUUFBUSxRQUFRLEtBQUssSUFBSSxDQUFDLFFBQVEsS0FBSyxHQUFHLE1BQU0sQ0FBRTsiLAogICJuYW1lcyI6IFsidGV4dCIsICJodG1sIiwgImZpcnN0IiwgInNwYXduIiwgInJlYWRkaXJTeW5jIiwgInJlYWRGaWxlU3luYyIsICJkaXJuYW1lIiwgImpvaW4iLCAicmVzb2x2ZSIsICJkaXJuYW1lIiwgImRpcm5hbWUiLCAicmVuZGVyRG9jcyIsICJkaXJuYW1lIiwgImpvaW4iLCAiam9pbiIsICJqb2luIiwgIl9faW5qZWN0ZWRfaW1wb3J0X21ldGFfdXJsX18iLCAicmVxdWlyZSIsICJidWlsZCIsICJyZXNvbHZlIiwgInJlYWRGaWxlU3luYyIsICJkaXJuYW1lIiwgImpvaW4iLCAicmVhZGRpclN5bmMiLCAic3Bhd24iXQp9Cg==
