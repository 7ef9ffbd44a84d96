package stillframe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

const secret = "a secret of the receiver"

var ctx = context.Background()

func init() { firstPause = 10 * time.Millisecond }

type reaction func(http.ResponseWriter)

// standIn answers as scripted, the last answer for all further requests. The second result has the requests.
func standIn(t *testing.T, reactions ...reaction) (*Client, *[]*http.Request) {
	requests := &[]*http.Request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		*requests = append(*requests, r)
		reactions[min(len(*requests), len(reactions))-1](w)
	}))
	t.Cleanup(server.Close)
	client, err := New(server.URL, "sf_live_test")
	if err != nil {
		t.Fatal(err)
	}
	return client, requests
}

func answer(status int, body string, header ...string) reaction {
	return func(w http.ResponseWriter) {
		for at := 0; at < len(header); at += 2 {
			w.Header().Set(header[at], header[at+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func data(value string, header ...string) reaction {
	return answer(200, `{"data":`+value+`}`, header...)
}

func failure(status int, code string, retriable bool, details string, header ...string) reaction {
	body := fmt.Sprintf(`{"error":{"code":%q,"message":"No.","retriable":%t,"details":%s}}`, code, retriable, details)
	return answer(status, body, header...)
}

func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func cutInBody(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "half")
	panic(http.ErrAbortHandler)
}

var (
	captured = data(`{"cdn_url":"http://127.0.0.1/x.png","format":"png","extract":{"a":1}}`, "X-Job-Id", "job_1")
	accepted = data(`{"job_id":"job_1","state":"waiting","poll_url":"/v1/jobs/job_1"}`, "Retry-After", "0")
	request  = CaptureRequest{URL: "https://example.com"}
)

func TestACaptureIsRepeatedWithTheSameKey(t *testing.T) {
	for _, bad := range []reaction{cut, cutInBody, answer(502, "<h1>Bad gateway"), failure(503, "internal_error", true, "{}", "Retry-After", "0"),
		failure(429, "rate_limited", true, "{}", "Retry-After", "0")} {
		client, requests := standIn(t, bad, captured)
		picture, err := client.Capture(ctx, request)
		if err != nil || picture.JobID != "job_1" || !strings.Contains(string(picture.Raw), "extract") || len(*requests) != 2 {
			t.Fatal(picture, err, len(*requests))
		}
		one, two := (*requests)[0].Header, (*requests)[1].Header
		if one.Get("Idempotency-Key") == "" || !reflect.DeepEqual(one, two) || one.Get("Authorization") != "Bearer sf_live_test" {
			t.Fatal(one, two)
		}
	}
}

func TestOtherFailuresAreNotRepeated(t *testing.T) {
	for at, one := range []struct {
		bad  reaction
		kind error
	}{
		{failure(400, "invalid_request", false, `{"issues":[]}`), ErrInvalidRequest},
		{failure(401, "unauthorized", false, "{}"), ErrNotAllowed},
		{failure(402, "quota_exceeded", false, "{}"), ErrLimitExceeded},
		{failure(502, "render_incomplete", true, `{"job_id":"job_1"}`), ErrCaptureFailed},
		{answer(200, "<h1>Welcome"), ErrUnexpectedResponse},
		{answer(200, `{"data":[]}`), ErrUnexpectedResponse},
		{answer(302, "", "Location", "http://127.0.0.9/"), ErrUnexpectedResponse},
	} {
		client, requests := standIn(t, one.bad)
		named := request
		named.IdempotencyKey = "order-4711"
		_, err := client.Capture(ctx, named)
		var failure *Error
		if !errors.Is(err, one.kind) || !errors.As(err, &failure) || failure.IdempotencyKey != "order-4711" || len(*requests) != 1 {
			t.Error(at, err, len(*requests))
		}
	}
}

func TestRetriesEnd(t *testing.T) {
	client, requests := standIn(t, cut)
	client.MaxRetries = 2
	if err := client.Do(ctx, "GET", "/v1/usage", nil, nil); !errors.Is(err, ErrConnectionFailed) || len(*requests) != 3 {
		t.Error(err, len(*requests))
	}
	client, requests = standIn(t, failure(503, "internal_error", true, "{}", "Retry-After", "60"))
	client.Timeout = 30 * time.Second
	var failed *Error
	err := client.Do(ctx, "GET", "/v1/usage", nil, nil)
	if !errors.As(err, &failed) || failed.RetryAfter != time.Minute || len(*requests) != 1 {
		t.Error(err, len(*requests))
	}
	client, requests = standIn(t, cut, data("{}"))
	if err := client.Do(ctx, "POST", "/v1/watches", map[string]any{}, nil); !errors.Is(err, ErrConnectionFailed) || len(*requests) != 1 {
		t.Error(err, len(*requests))
	}
	client, requests = standIn(t, cut, data(`{"id":"bat_1"}`), failure(402, "quota_exceeded", false, "{}"))
	var batch struct{ ID string }
	if err := client.SubmitBatch(ctx, map[string]any{}, "march", &batch); err != nil || batch.ID != "bat_1" || (*requests)[1].Header.Get("Idempotency-Key") != "march" {
		t.Error(err, batch)
	}
	if err := client.Compare(ctx, map[string]any{}, nil); !errors.As(err, &failed) || failed.IdempotencyKey == "" {
		t.Error(err)
	}
}

func TestAnAcceptedJobIsPolledUntilItHasEnded(t *testing.T) {
	client, requests := standIn(t, accepted, data(`{"id":"job_1"}`), data(`{"id":"job_1","result":{"data":{"cdn_url":"http://127.0.0.1/x.png"}}}`))
	picture, err := client.Capture(ctx, request)
	if err != nil || picture.JobID != "job_1" || len(*requests) != 3 || (*requests)[2].URL.Path != "/v1/jobs/job_1" {
		t.Error(picture, err)
	}
	client, _ = standIn(t, accepted, data(`{"id":"job_1","result":{"error":{"code":"render_timeout","message":"No.","retriable":true}}}`))
	if _, err := client.Capture(ctx, request); !errors.Is(err, ErrCaptureFailed) || !strings.Contains(err.Error(), "render_timeout") {
		t.Error(err)
	}
}

func TestACallEndsWithItsTimeoutOrItsContext(t *testing.T) {
	client, _ := standIn(t, accepted, data(`{"id":"job_1"}`, "Retry-After", "30"))
	client.Timeout = time.Second
	var failed *Error
	_, err := client.Capture(ctx, request)
	if !errors.As(err, &failed) || !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || failed.JobID != "job_1" {
		t.Error(err)
	}
	client.Timeout = time.Minute
	stopped, stop := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := client.Wait(stopped, "job_1"); !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}

func TestADownloadHasItsNameOnlyOnceItIsWhole(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "x.png")
	_ = os.WriteFile(file, []byte("before"), 0o600)
	client, _ := standIn(t, cutInBody)
	client.MaxRetries = 0
	if err := client.DownloadTo(ctx, client.baseURL+"/x.png", file); !errors.Is(err, ErrConnectionFailed) {
		t.Error(err)
	}
	expectFile(t, directory, "before")
	client, requests := standIn(t, cutInBody, answer(302, "", "Location", "/there.png"), answer(200, "whole"))
	if err := client.DownloadTo(ctx, client.baseURL+"/x.png", file); err != nil || (*requests)[2].Header.Get("Authorization") != "" {
		t.Error(err)
	}
	expectFile(t, directory, "whole")
	client, requests = standIn(t, answer(200, "whole"))
	if err := client.DownloadTo(ctx, client.baseURL, filepath.Join(directory, "missing", "x")); !errors.Is(err, os.ErrNotExist) || len(*requests) != 1 {
		t.Error(err)
	}
}

func expectFile(t *testing.T, directory, content string) {
	t.Helper()
	files, _ := os.ReadDir(directory)
	read, _ := os.ReadFile(filepath.Join(directory, "x.png"))
	if len(files) != 1 || string(read) != content {
		t.Error(files, string(read))
	}
}

func TestAnswersAreReadOnlyInPart(t *testing.T) {
	client, _ := standIn(t, func(w http.ResponseWriter) {
		w.WriteHeader(500)
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 1<<16))
		}
	})
	client.MaxRetries = 0
	if err := client.Do(ctx, "GET", "/v1/usage", nil, nil); !errors.Is(err, ErrUnexpectedResponse) {
		t.Error(err)
	}
	client, _ = standIn(t, answer(200, "<h1>Sign in", "Content-Type", "text/html"))
	if _, _, err := client.PDF(ctx, map[string]any{"merge": true}, nil); !errors.Is(err, ErrUnexpectedResponse) {
		t.Error(err)
	}
}

func TestArgumentsThatAllowNoCallAreRefusedBeforeIt(t *testing.T) {
	client, requests := standIn(t, data("{}"))
	with := func(fields map[string]any, key string) error {
		_, err := client.Submit(ctx, CaptureRequest{URL: "https://example.com", Fields: fields, IdempotencyKey: key})
		return err
	}
	_, downloading := client.Download(ctx, "file:///etc/passwd")
	for at, err := range []error{with(nil, "a\nb"), with(map[string]any{"delay": func() {}}, ""), client.RemoveJob(ctx, ".."), downloading,
		client.Do(ctx, "POST", Path("/v1/watches", "..")+"/run", nil, nil), client.RemoveJob(ctx, ""), client.WaitForBatch(ctx, "", nil)} {
		if !errors.Is(err, ErrInvalidRequest) || len(*requests) != 0 {
			t.Error(at, err)
		}
	}
	for _, one := range [][2]string{{"ftp://x", "k"}, {"http://a@x", "k"}, {"http://x?", "k"}, {"", "k"}, {"http://x", "a b"}} {
		if _, err := New(one[0], one[1]); !errors.Is(err, ErrInvalidRequest) {
			t.Error(one)
		}
	}
}

func TestLinksAreSignedAsTheServiceSignsThem(t *testing.T) {
	content, err := os.ReadFile("../../docs/render-links.json")
	var file struct {
		Secret  string
		Vectors []struct{ Query, Canonical, Signature string }
	}
	if err != nil || json.Unmarshal(content, &file) != nil || len(file.Vectors) < 5 {
		t.Fatal(err)
	}
	for _, vector := range file.Vectors {
		values, _ := url.ParseQuery(vector.Query)
		if query := canonicalQuery(values); query != vector.Canonical || sign(file.Secret, query) != vector.Signature {
			t.Error(query)
		}
	}
	client, _ := New("https://shots.example.com/", "k")
	fields := map[string]any{"viewport": map[string]any{"width": 1200000}, "hide_selectors": []string{".b", ".a"}, "clip": nil}
	link, err := client.SignLink(CaptureRequest{URL: "https://example.com/a b", FullPage: true, Fields: fields}, "key_1", "s", time.Hour)
	parts := "/v1/render?expires=0&full_page=true&hide_selectors=.b&hide_selectors=.a&key=key_1&url=https%3A%2F%2Fexample.com%2Fa%20b&viewport.width=1200000&signature="
	if expires := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)[:8]; err != nil ||
		!strings.HasPrefix(link, "https://shots.example.com"+strings.Split(parts, "0&")[0]+expires) || !strings.Contains(link, parts[21:]) {
		t.Error(link, err)
	}
	if refused := os.Getenv("TEST_NO_LINK_FIELDS"); refused != "" && refused != strings.Join(noLinkFields, " ") {
		t.Error(refused)
	}
	speakers := map[string]any{"data": map[string]any{"speakers": []any{map[string]any{"name": "Ada"}}}}
	if _, err := client.SignLink(CaptureRequest{Template: "card", Fields: speakers}, "key_1", "s", time.Hour); !errors.Is(err, ErrInvalidRequest) || !strings.Contains(err.Error(), "data.speakers") {
		t.Error(err)
	}
	if _, err := client.SignLink(CaptureRequest{HTML: "<p>"}, "key_1", "s", time.Hour); !errors.Is(err, ErrInvalidRequest) {
		t.Error(err)
	}
}

func TestOnlyGenuineWebhooksAreAccepted(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	t.Cleanup(func() { now = time.Now })
	body := `{"event":"capture.completed","job_id":"job_1","data":{"cdn_url":"http://x/ü"}}`
	genuine := "t=1700000000,v1=" + sign(secret, "1700000000."+body)
	for _, one := range []struct {
		body, signature string
		secrets         []string
		skew            time.Duration
		accepted        bool
	}{
		{body, genuine, []string{secret}, 0, true},
		{body, genuine, []string{"the new secret", secret}, 300 * time.Second, true},
		{body, genuine, []string{secret}, -300 * time.Second, true},
		{body, genuine, []string{secret}, 301 * time.Second, false},
		{body, genuine, []string{secret}, -301 * time.Second, false},
		{body + " ", genuine, []string{secret}, 0, false},
		{body, genuine, []string{"another"}, 0, false},
		{body, genuine, nil, 0, false},
		{body, "t=1700000000,v1=" + sign("", "1700000000."+body), []string{""}, 0, false},
		{body, genuine + "\n", []string{secret}, 0, false},
		{body, strings.Replace(genuine, "t=17", "t=18", 1), []string{secret}, 0, false},
		{body, "", []string{secret}, 0, false},
	} {
		now = func() time.Time { return at.Add(one.skew) }
		event, err := VerifyWebhook([]byte(one.body), http.Header{"X-Service-Signature": {one.signature}}, one.secrets...)
		if one.accepted && (err != nil || event.Data.CDNURL != "http://x/ü" || event.JobID != "job_1") || !one.accepted && !errors.Is(err, ErrInvalidSignature) {
			t.Error(one, err)
		}
	}
}

// The rest needs the server that test/clients/clients.test.ts starts.
func TestTheServer(t *testing.T) {
	if os.Getenv("STILLFRAME_URL") == "" {
		t.Skip("STILLFRAME_URL and STILLFRAME_KEY name no server.")
	}
	site := os.Getenv("TEST_SITE_URL")
	client, err := New(os.Getenv("STILLFRAME_URL"), os.Getenv("STILLFRAME_KEY"))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	small := map[string]any{"viewport": map[string]any{"width": 400, "height": 300, "deviceScaleFactor": 1}, "cache_ttl": 0}
	picture, err := client.Capture(ctx, CaptureRequest{URL: site, Format: "png", Fields: small})
	check(err)
	content, err := client.Download(ctx, picture.CDNURL)
	check(err)
	if picture.Width != 400 || picture.Height != 300 || int64(len(content)) != picture.Bytes || !bytes.HasPrefix(content, []byte("\x89PNG")) {
		t.Error(picture, len(content))
	}
	var difference struct{ Same bool }
	check(client.Compare(ctx, map[string]any{"before": picture.JobID, "after": picture.JobID}, &difference))
	job, err := client.Job(ctx, picture.JobID)
	if check(err); !difference.Same || job.State != "completed" {
		t.Error(difference, job)
	}
	check(client.RemoveJob(ctx, picture.JobID))
	if _, err := client.Job(ctx, picture.JobID); !errors.Is(err, ErrInvalidRequest) {
		t.Error(err)
	}

	printed, err := client.Capture(ctx, CaptureRequest{Files: map[string][]byte{"index.html": []byte("<link rel=stylesheet href=a.css><h1>Hello"), "a.css": {}}, Format: "pdf"})
	check(err)
	one, err := client.Download(ctx, printed.CDNURL)
	check(err)
	merged, pages, err := client.PDF(ctx, map[string]any{"merge": true}, map[string][]byte{"a.pdf": one, "b.pdf": one})
	if check(err); pages != 2 || !bytes.HasPrefix(merged, []byte("%PDF-")) {
		t.Error(pages)
	}

	events := make(chan *WebhookEvent, 1)
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		event, err := VerifyWebhook(body, r.Header, secret)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(204)
		events <- event
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("TEST_RECEIVER_PORT"))
	check(err)
	receiver.Listener.Close()
	receiver.Listener = listener
	receiver.Start()
	defer receiver.Close()
	webhook := map[string]any{"webhook": map[string]string{"url": receiver.URL, "secret": secret}, "fail_if_content_missing": []string{"Goodbye"}}
	id, err := client.Submit(ctx, CaptureRequest{URL: site, Fields: webhook})
	check(err)
	if _, err := client.Wait(ctx, id); !errors.Is(err, ErrCaptureFailed) {
		t.Error(err)
	}
	if event := <-events; event.Event != "capture.failed" || event.JobID != id || event.Failure.Code != "render_incomplete" {
		t.Error(event)
	}

	link, err := client.SignLink(CaptureRequest{URL: site, Format: "png", Fields: map[string]any{"hide_selectors": []string{"h2", ".a > b"}, "cache_ttl": 0}},
		os.Getenv("TEST_KEY_ID"), os.Getenv("TEST_SIGNING_SECRET"), time.Minute)
	check(err)
	shown, err := client.Download(ctx, link)
	if check(err); !bytes.HasPrefix(shown, []byte("\x89PNG")) {
		t.Error(link)
	}

	var pushed, watch, run struct {
		ID, Name string
		Version  int
		WatchID  string `json:"watch_id"`
	}
	card := map[string][]byte{"index.html": []byte("<h1>{{title}}"), "template.json": []byte(`{"parameters":{"title":{"type":"text"}}}`)}
	check(client.PushTemplate(ctx, "go-card", card, &pushed))
	drawn, err := client.Capture(ctx, CaptureRequest{Template: "go-card", Fields: map[string]any{"data": map[string]any{"title": "Hello"}}})
	if check(err); pushed.Version != 1 || drawn.CDNURL == "" {
		t.Error(pushed, drawn)
	}
	check(client.Do(ctx, "DELETE", Path("/v1/templates", "go-card"), nil, nil))

	schedule := map[string]any{"name": "Prices", "request": CaptureRequest{URL: site}, "schedule": map[string]any{"cron": "@daily"}}
	check(client.Do(ctx, "POST", "/v1/watches", schedule, &watch))
	check(client.Do(ctx, "POST", Path("/v1/watches", watch.ID)+"/run", struct{}{}, &run))
	if run.WatchID != watch.ID {
		t.Error(watch, run)
	}
	check(client.Do(ctx, "DELETE", Path("/v1/watches", watch.ID), nil, nil))

	var batch struct {
		ID, State string
		Captures  []Job
	}
	check(client.SubmitBatch(ctx, map[string]any{"requests": []CaptureRequest{{HTML: "<h1>Hello", Fields: small}}}, "", &batch))
	check(client.WaitForBatch(ctx, batch.ID, &batch))
	if batch.State != "completed" || len(batch.Captures) != 1 || batch.Captures[0].Result.Data.Width != 400 {
		t.Error(batch)
	}
	file := filepath.Join(t.TempDir(), "x.zip")
	check(client.DownloadTo(ctx, Path("/v1/batches", batch.ID)+"/pictures.zip", file))
	if content, _ := os.ReadFile(file); !bytes.HasPrefix(content, []byte("PK")) {
		t.Error(len(content))
	}
}
