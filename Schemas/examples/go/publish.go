// Publishes a notification to device tokens with franz-go, and prints the request's id.
//
//	BELFRY_KAFKA_BROKERS=HOST:PORT [SPREAD=N] [LANE=NAME] go run . BUNDLE PAYLOAD TOKEN…
//
// PAYLOAD is JSON with an `aps` object, TOKEN hexadecimal. SPREAD (1) is the bundle's, as all publishers have it.
// LANE (normal) is urgent, normal or bulk.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lanes are the Kafka topics by LANE, which may be absent.
var lanes = map[string]string{
	"urgent": "push.requests.urgent", "normal": "push.requests", "bulk": "push.requests.bulk", "": "push.requests",
}

type deviceToken struct {
	Hex string `json:"hex"`
}

type sendRequest struct {
	RequestID   string        `json:"requestId"`
	PayloadJSON string        `json:"payloadJson"`
	Tokens      []deviceToken `json:"tokens"`
}

// keyOf returns the key of the record that carries a token.
func keyOf(bundle string, token []byte, spread uint32) string {
	if spread == 1 {
		return bundle
	}
	return fmt.Sprintf("%s#%d", bundle, crc32.ChecksumIEEE(token)%spread)
}

// records makes one record for each key: it holds the tokens of its own key only.
func records(topic, bundle, payload string, tokens []string, spread uint32, request string) ([]*kgo.Record, error) {
	byKey := map[string][]deviceToken{}
	for _, text := range tokens {
		token, err := hex.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("token %q: %w", text, err)
		}
		key := keyOf(bundle, token, spread)
		byKey[key] = append(byKey[key], deviceToken{text})
	}
	var made []*kgo.Record
	for key, members := range byKey {
		value, err := json.Marshal(sendRequest{request, payload, members})
		if err != nil {
			return nil, err
		}
		made = append(made, &kgo.Record{
			Topic:   topic,
			Key:     []byte(key),
			Value:   value,
			Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/json")}},
		})
	}
	return made, nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 {
		log.Fatal("usage: publish BUNDLE PAYLOAD TOKEN…")
	}
	spread := uint64(1)
	if text := os.Getenv("SPREAD"); text != "" {
		var err error
		if spread, err = strconv.ParseUint(text, 10, 32); err != nil || spread == 0 {
			log.Fatalf("SPREAD is %q; a number from 1 is allowed", text)
		}
	}
	topic, isLane := lanes[os.Getenv("LANE")]
	if !isLane {
		log.Fatalf("LANE is %q; urgent, normal and bulk are allowed", os.Getenv("LANE"))
	}
	number := make([]byte, 16)
	if _, err := rand.Read(number); err != nil {
		log.Fatal(err)
	}
	request := hex.EncodeToString(number)
	made, err := records(topic, os.Args[1], os.Args[2], os.Args[3:], uint32(spread), request)
	if err != nil {
		log.Fatal(err)
	}
	// Left alone it places keys by murmur2, is idempotent and waits for all replicas.
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Getenv("BELFRY_KAFKA_BROKERS"), ",")...))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(context.Background(), made...).FirstErr(); err != nil {
		log.Fatalf("not delivered: %v", err)
	}
	fmt.Println(request)
}
