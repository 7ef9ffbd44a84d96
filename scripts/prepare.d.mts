export function ensureClientTypes(): void;
export function ensureDeclarations(): void;
