CREATE TABLE "templates" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text COLLATE "C" NOT NULL,
	"version" integer NOT NULL,
	"manifest" text NOT NULL,
	"files" text NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"created_at" bigint NOT NULL,
	"content" "bytea" NOT NULL,
	CONSTRAINT "templates_version" CHECK (version >= 1),
	CONSTRAINT "templates_bytes" CHECK (bytes >= 0)
);
--> statement-breakpoint
ALTER TABLE "templates" ADD CONSTRAINT "templates_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "templates_version" ON "templates" USING btree ("account_id","name","version");