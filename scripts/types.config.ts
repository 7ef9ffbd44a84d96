import { defineConfig } from 'tsup';

/** The declarations of the library: built for the package only, since they take longer than the program. */
export default defineConfig({
  entry: { stillframe: 'src/library/stillframe.ts' },
  dts: { only: true },
  format: 'esm',
  outDir: 'dist',
});
