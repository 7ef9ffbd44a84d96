import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { defineConfig, type Options } from 'tsup';
import { builtModulesForEsbuild } from './scripts/built-modules.mjs';
import { ensureClientTypes } from './scripts/prepare.mjs';

const require = createRequire(import.meta.url);

/** Files of development packages that ship beside the bundle, so that users need not install those packages. */
const COPIES: [from: string, to: string][] = [
  [require.resolve('swagger-ui-dist/swagger-ui.css'), 'docs/swagger-ui.css'],
  [require.resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'docs/swagger-ui-bundle.js'],
  [require.resolve('swagger-ui-dist/LICENSE'), 'docs/swagger-ui.LICENSE'],
  [require.resolve('@hyzyla/pdfium/pdfium.wasm'), 'pdfium.wasm'],
];

const LIBPDF = [
  '@libpdf/core',
  ...['@noble/ciphers', '@noble/hashes', 'pako'].map((name) => `@libpdf/core/node_modules/${name}`),
];

/** Packages of which parts are bundled, by the file of their licences. */
const BUNDLED: Record<string, string[]> = {
  // As a dependency, the SDK would bring a web server and 80 more packages.
  mcp: [
    '@modelcontextprotocol/sdk',
    'ajv',
    'ajv-formats',
    'content-type',
    'fast-deep-equal',
    'fast-uri',
    'json-schema-traverse',
    'zod-to-json-schema',
  ],
  // As dependencies, they would take 24 MB, most of it for metrics and logs; the bundle takes 150 kB.
  opentelemetry: [
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/exporter-trace-otlp-proto',
    '@opentelemetry/otlp-exporter-base',
    '@opentelemetry/otlp-transformer',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
    '@opentelemetry/semantic-conventions',
  ],
  marked: ['marked'],
  // As dependencies, they would bring a command line and tables of entities that are loaded by each thread.
  templates: ['liquidjs', 'parse5', 'parse5/node_modules/entities'],
  // As a dependency, it would bring 15 MB of certificates and signatures, which are not used.
  libpdf: LIBPDF,
  // As a dependency, it would bring its library twice, in 11 MB.
  pdfium: ['@hyzyla/pdfium'],
  // As a dependency, it is a hundred files to load, which take 0.15 s of processor time.
  zod: ['zod'],
};

/** CommonJS packages that every capture loads. By `import`, Node would scan each for its exports first. */
const COMMONJS = ['commander', 'ipaddr.js', 'pino', 'saxes', 'sharp', 'tldts'];

/** Loads them by `require`. */
function requireCommonJs(): Plugin {
  return {
    name: 'commonjs',
    setup(build) {
      const filter = new RegExp(`^(${COMMONJS.join('|')})$`);
      build.onResolve({ filter }, ({ path }) => ({ path, namespace: 'commonjs' }));
      build.onLoad({ filter, namespace: 'commonjs' }, ({ path }) => {
        const names = Object.keys(require(path)).filter((name) => name !== 'default');
        const load = `import { createRequire } from 'node:module';\nconst loaded = createRequire(import.meta.url)('${path}');`;
        return { contents: `${load}\nexport default loaded;\nexport const { ${names.join(', ')} } = loaded;` };
      });
    },
  };
}

/** Leaves out what @libpdf/core signs PDFs with. It makes subclasses of theirs when it is loaded. */
function leaveOutSignatures(): Plugin {
  return {
    name: 'signatures',
    setup(build) {
      build.onResolve({ filter: /^(asn1js|pkijs|@google-cloud\/.+)$/ }, ({ path }) => ({
        path,
        namespace: 'signatures',
      }));
      const contents = 'module.exports = Object.create(new Proxy({}, { get: () => class {} }));';
      build.onLoad({ filter: /./, namespace: 'signatures' }, () => ({ contents }));
    },
  };
}

/** Mistakes of @libpdf/core 0.4.2, by the files of LibPDF-js/core, and what is built in their place. */
const LIBPDF_FIXES: [mistake: string, fixed: string][] = [
  // src/security/handlers/abstract.ts joins encrypted bytes by a list of numbers, which takes 20 times their memory.
  ['new Uint8Array([...iv, ...ciphertext])', 'Buffer.concat([iv, ciphertext])'],
  // src/parser/token-reader.ts reads an empty word again and again at a `)`, `{` or `}` that is out of place.
  [
    'readKeyword(position) {\n\t\tconst start = this.scanner.position;\n',
    'readKeyword(position) {\n\t\tconst start = this.scanner.position;\n\t\tif (!isRegularChar(this.scanner.peek())) this.scanner.advance();\n',
  ],
  // src/helpers/format.ts writes numbers with five digits after the point, which loses those of small matrices.
  [
    'let str = value.toFixed(5);',
    'let str = String(value);\n\tif (/e-/.test(str)) str = value.toFixed(20);\n\tif (!/^-?\\d+\\.\\d+$/.test(str)) return "0";',
  ],
];

/** Fixes these, and encrypts PDFs by Node's ciphers. */
function fixLibPdf(): Plugin {
  return {
    name: 'libpdf',
    setup(build) {
      build.onResolve({ filter: /^@noble\/ciphers\/aes\.js$/ }, () => ({ path: resolve('scripts/node-ciphers.mjs') }));
      build.onLoad({ filter: /@libpdf.core.dist.index\.mjs$/ }, ({ path }) => {
        let contents = readFileSync(path, 'utf8');
        for (const [mistake, fixed] of LIBPDF_FIXES) {
          if (contents.split(mistake).length !== 2) throw new Error(`@libpdf/core has changed: ${mistake}`);
          contents = contents.replace(mistake, () => fixed);
        }
        return { contents };
      });
    },
  };
}

/**
 * The program's first lines, for a shell and for Node alike: run as a command it sets what src/cli/apply-memory-settings.ts would, unless
 * the operator has set it, and becomes Node. `env -S` would do it in one line, which BusyBox does not know.
 */
const HEAD = `#!/usr/bin/env sh
':' //; export MALLOC_ARENA_MAX="\${MALLOC_ARENA_MAX:-2}" MALLOC_MMAP_THRESHOLD_="\${MALLOC_MMAP_THRESHOLD_:-131072}" NODE_OPTIONS="--max-semi-space-size=8 $NODE_OPTIONS"; exec node "$0" "$@"
`;

/** The options of `npm run dev`, which builds again when a source changes: `tsup --watch src --sourcemap`. */
interface Given {
  watch?: unknown;
  sourcemap?: unknown;
}

const program = ({ watch, sourcemap }: Given): Options => ({
  entry: {
    main: 'src/main.ts',
    stillframe: 'src/library/stillframe.ts',
    'checkpoint-thread': 'src/store/sqlite/checkpoint-thread.ts',
    'compare-thread': 'src/compare/compare-thread.ts',
    'pdf-pages-thread': 'src/render/encode/pdf-pages-thread.ts',
    'pdf-thread': 'src/pdf/pdf-thread.ts',
    'template-thread': 'src/templates/template-thread.ts',
    'picture-thread': 'src/render/encode/picture-thread.ts',
    'markdown-form-thread': 'src/http/compatible-apis/markdown-form-thread.ts',
    'json-thread': 'src/http/json-thread.ts',
    'markdown-thread': 'src/render/inspect/markdown-thread.ts',
  },
  format: 'esm',
  target: 'node20',
  platform: 'node',
  outDir: 'dist',
  clean: ['!client/**'],
  noExternal: COMMONJS,
  esbuildPlugins: [builtModulesForEsbuild(), requireCommonJs(), leaveOutSignatures(), fixLibPdf()],
  async onSuccess() {
    writeFileSync('dist/main.js', readFileSync('dist/main.js', 'utf8').replace('#!/usr/bin/env node\n', HEAD));
    if (sourcemap) addLineToMap('dist/main.js.map');
    execFileSync(process.execPath, ['scripts/build-rules.mjs', 'dist/block'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    execFileSync(process.execPath, ['scripts/run-ts.mjs', '--no-build', 'scripts/write-openapi.ts'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    for (const [from, to] of COPIES) {
      mkdirSync(dirname(join('dist', to)), { recursive: true });
      copyFileSync(from, join('dist', to));
    }
    for (const [file, packages] of Object.entries(BUNDLED)) {
      const licences = packages.map(
        (name) => `${name.split('/node_modules/').at(-1)}\n\n${readLicence(join('node_modules', name))}`,
      );
      writeFileSync(`dist/${file}.LICENSES.txt`, licences.join('\n\n'));
    }
    if (watch) return startServer();
  },
});

function readLicence(folder: string): string {
  const [file = 'LICENSE'] = readdirSync(folder).filter((name) => /^LICENSE(\.md)?$/.test(name));
  return readFileSync(join(folder, file), 'utf8');
}

/** HEAD is one line longer than what it replaces. */
function addLineToMap(file: string): void {
  const map = JSON.parse(readFileSync(file, 'utf8')) as { mappings: string };
  writeFileSync(file, JSON.stringify({ ...map, mappings: `;${map.mappings}` }));
}

/** @returns what ends the server before the next build */
function startServer(): () => Promise<void> {
  const NODE_OPTIONS = `--enable-source-maps ${process.env.NODE_OPTIONS ?? ''}`.trim();
  const server = spawn('dist/main.js', ['serve'], { stdio: 'inherit', env: { ...process.env, NODE_OPTIONS } });
  return async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill();
    await once(server, 'exit');
  };
}

/** `stillframe/client`: one file for each module system, without anything of the program, and declarations that need no other package. */
const client: Options = {
  entry: { client: 'src/client/client.ts' },
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  outDir: 'dist/client',
  clean: true,
  splitting: false,
  sourcemap: false,
  tsconfig: 'scripts/client-tsconfig.json',
  dts: true,
};

ensureClientTypes();
export default defineConfig((given) => (given.watch ? program(given) : [program(given), client]));
