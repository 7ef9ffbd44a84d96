import { defineConfig } from 'vitest/config';
import { builtModulesForVite } from './built-modules.mjs';

/** `npm run test:fast`: the tests that need no browser and no built program, without those that take seconds each. */
export default defineConfig({
  plugins: [builtModulesForVite()],
  test: {
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 30_000,
    include: [
      'test/*.test.ts',
      'test/{account,artifacts,capture,client,contract,deploy,egress,http,store,webhook,work}/**/*.test.ts',
      'test/cli/{capture-target,font-advice,idle-engine,local-captures,page-server,picture-file,run-signals}.test.ts',
      'test/render/{emulate,fonts}/*.test.ts',
      'test/render/filter/{bounded-regex,long-urls}.test.ts',
      'test/render/inspect/to-markdown.test.ts',
      'test/render/page/{deadline,edit,fold,judge-document,open-page}.test.ts',
      'test/render/picture/{fit-density,print-stream,print-template,sheet}.test.ts',
      'test/render/render-failure.test.ts',
    ],
    exclude: [
      'test/**/*trials.test.ts',
      'test/docs-*.test.ts',
      'test/artifacts/s3.test.ts',
      'test/capture/story.test.ts',
      'test/client/{package,stillframe}.test.ts',
      'test/deploy/package-manifest.test.ts',
      'test/egress/{caller-proxy,capture-lookups,capture-proxy,resolve-host}.test.ts',
      'test/http/{docs,serve}.test.ts',
      'test/http/console/*.test.ts',
      'test/http/mcp/capture-page.test.ts',
      'test/store/{accept,claim,console,deliveries,log-sync,model,open-store,retention,shared-render,soundness}.test.ts',
      'test/webhook/trials.test.ts',
    ],
  },
});
