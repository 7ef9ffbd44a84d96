import { defineConfig } from 'drizzle-kit';

export default defineConfig({ dialect: 'sqlite', casing: 'snake_case', schema: './scripts/sqlite-schema.ts', out: './drizzle' });
