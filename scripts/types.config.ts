import { defineConfig } from 'tsup';

/** The declarations of the library: built for the package only, since they take longer than the program. They need no other package. */
export default defineConfig({
  entry: { stillframe: 'src/library/stillframe.ts' },
  // `AsyncDisposable` is not in the default library of TypeScript.
  dts: { only: true, banner: '/// <reference lib="esnext.disposable" />' },
  format: 'esm',
  outDir: 'dist',
});
