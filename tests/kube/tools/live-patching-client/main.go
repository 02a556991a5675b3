// Command live-patching-client asks a live-patching service once, as the AKS node controller does:
// over TLS with the ALPN names aks-live-patching and h2, with its token as metadata.
//
// It prints the code of the answer, then a space, then the config or the message. The token comes
// in the environment, PROOF. Exit code 0 for every answer, 2 for a wrong call.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const method = "/akslivepatching.v1.LivePatchingService/GetComponentConfig"

// The round trip of the node controller may take this long.
const deadline = 3 * time.Second

func text(name string, number int32) *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{
		Name:   proto.String(name),
		Number: proto.Int32(number),
		Type:   descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
		Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
}

func messages() (protoreflect.MessageDescriptor, protoreflect.MessageDescriptor, error) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name:    proto.String("akslivepatching.proto"),
		Package: proto.String("akslivepatching.v1"),
		Syntax:  proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{
				Name:  proto.String("GetComponentConfigRequest"),
				Field: []*descriptorpb.FieldDescriptorProto{text("component_name", 1)},
			},
			{
				Name:  proto.String("GetComponentConfigResponse"),
				Field: []*descriptorpb.FieldDescriptorProto{text("component_name", 1), text("config", 2)},
			},
		},
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	return file.Messages().Get(0), file.Messages().Get(1), nil
}

func ask(target, ca, name, alpn, component string) (string, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return "", err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return "", fmt.Errorf("no certificate in %s", ca)
	}
	asked, answered, err := messages()
	if err != nil {
		return "", err
	}
	channel, err := grpc.NewClient(target, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    pool,
		ServerName: name,
		NextProtos: strings.Split(alpn, ","),
	})), grpc.WithNoProxy())
	if err != nil {
		return "", err
	}
	defer channel.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", os.Getenv("PROOF"))
	request, response := dynamicpb.NewMessage(asked), dynamicpb.NewMessage(answered)
	request.Set(asked.Fields().ByNumber(1), protoreflect.ValueOfString(component))
	if err := channel.Invoke(ctx, method, request, response); err != nil {
		return "", err
	}
	if got := response.Get(answered.Fields().ByNumber(1)).String(); got != component {
		return "", fmt.Errorf("asked for %q, was answered for %q", component, got)
	}
	return response.Get(answered.Fields().ByNumber(2)).String(), nil
}

func main() {
	target := flag.String("target", "", "host:port")
	ca := flag.String("ca", "", "file with the CA, PEM")
	name := flag.String("name", "", "the name that the certificate must have")
	alpn := flag.String("alpn", "aks-live-patching,h2", "ALPN names, by commas; grpc adds h2")
	component := flag.String("component", "aksNodeController", "the component asked for")
	flag.Parse()
	if *target == "" || *ca == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	config, err := ask(*target, *ca, *name, *alpn, *component)
	if err != nil {
		fmt.Println(status.Code(err).String(), status.Convert(err).Message())
		return
	}
	fmt.Println("OK", config)
}
