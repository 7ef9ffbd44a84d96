/** Writes src/client/wire.ts. */
import { writeFileSync } from 'node:fs';
import { clientTypes } from './client-types.js';

writeFileSync(new URL('../src/client/wire.ts', import.meta.url), await clientTypes());
